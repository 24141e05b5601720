SELECT
    a.segment,
    DATE_FORMAT(FROM_UTC_TIMESTAMP(s.contract_signing_date, :time_zone), 'yyyy-MM') AS month,
    COUNT(*) AS sales,
    SUM(s.contract_subtotal) AS total
FROM sales AS s
LEFT JOIN accounts AS a ON s.customer_id = a.id
WHERE s.contract_signing_date IS NOT NULL
GROUP BY DATE_FORMAT(FROM_UTC_TIMESTAMP(s.contract_signing_date, :time_zone), 'yyyy-MM'), a.segment
