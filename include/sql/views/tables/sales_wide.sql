-- Live sales with the newest name of everything they point to.
SELECT
    sales.sale_id,
    statuses.status_name,
    units.unit_name,
    buildings.building_name,
    projects.project_name,
    agents.agent_name,
    customers.customer_name,
    sales.contract_subtotal,
    sales.contract_signing_date
FROM sales
LEFT JOIN statuses ON sales.status_id = statuses.status_id
LEFT JOIN units ON sales.unit_id = units.unit_id
LEFT JOIN buildings ON units.building_id = buildings.building_id
LEFT JOIN projects ON units.project_id = projects.project_id
LEFT JOIN agents ON sales.agent_id = agents.agent_id
LEFT JOIN customers ON sales.customer_id = customers.customer_id
