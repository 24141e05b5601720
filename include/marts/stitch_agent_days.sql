SELECT
    agent_id,
    DATE_FORMAT(FROM_UTC_TIMESTAMP(contract_signing_date, :time_zone), 'yyyy-MM-dd') AS day,
    SUBSTR(DATE_FORMAT(FROM_UTC_TIMESTAMP(contract_signing_date, :time_zone), 'yyyy-MM-dd'), 1, 7) AS month,
    COUNT(*) AS contracts,
    SUM(contract_subtotal) AS contract_total
FROM sales
WHERE contract_signing_date IS NOT NULL
GROUP BY
    agent_id,
    DATE_FORMAT(FROM_UTC_TIMESTAMP(contract_signing_date, :time_zone), 'yyyy-MM-dd'),
    SUBSTR(DATE_FORMAT(FROM_UTC_TIMESTAMP(contract_signing_date, :time_zone), 'yyyy-MM-dd'), 1, 7)
