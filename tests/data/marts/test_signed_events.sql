SELECT
    event_id,
    DATE_FORMAT(event_time, 'yyyy-MM') AS event_month,
    sale_id,
    agent_id,
    contract_subtotal,
    COALESCE(status_id, -1) AS status_id
FROM sales_log
WHERE contract_signing_date IS NOT NULL AND op <> 'd'
