SELECT
    sales.unit_id,
    sales.agent_id,
    units.unit_name,
    MAX(agents.agent_name) AS agent_name,
    COUNT(DISTINCT sales.customer_id) AS customers,
    COUNT(*) AS sales,
    RANK() OVER (PARTITION BY sales.unit_id ORDER BY COUNT(*) DESC) AS place
FROM sales
LEFT JOIN units ON sales.unit_id = units.unit_id
LEFT JOIN agents ON sales.agent_id = agents.agent_id
GROUP BY sales.unit_id, sales.agent_id, units.unit_name
