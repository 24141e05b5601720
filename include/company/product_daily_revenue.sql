SELECT
    day,
    product_id,
    currency,
    SUM(amount) AS revenue,
    COUNT(*) AS order_lines
FROM order_line_facts
GROUP BY day, product_id, currency
