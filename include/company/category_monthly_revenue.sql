SELECT
    p.category,
    d.currency,
    SUBSTR(d.day, 1, 7) AS month,
    SUM(d.revenue) AS revenue
FROM product_daily_revenue AS d
LEFT JOIN products AS p ON d.product_id = p.id
GROUP BY SUBSTR(d.day, 1, 7), p.category, d.currency
