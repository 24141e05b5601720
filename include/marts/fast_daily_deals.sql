SELECT
    DATE_FORMAT(FROM_UTC_TIMESTAMP(sales.contract_signing_date, :time_zone), 'yyyy-MM-dd') AS day,
    units.project_id,
    sales.agent_id,
    COUNT(*) AS deals,
    CAST(COALESCE(SUM(sales.contract_subtotal), 0) AS DECIMAL(38, 4)) AS contract_total
FROM sales
LEFT JOIN units ON sales.unit_id = units.unit_id
WHERE sales.contract_signing_date IS NOT NULL
GROUP BY
    DATE_FORMAT(FROM_UTC_TIMESTAMP(sales.contract_signing_date, :time_zone), 'yyyy-MM-dd'),
    units.project_id,
    sales.agent_id
