SELECT
    d.day,
    SUM(CAST(d.revenue * r.rate AS DECIMAL(38, 6))) AS revenue
FROM product_daily_revenue AS d
INNER JOIN exchange_rates AS r ON d.day = r.day AND d.currency = r.currency
GROUP BY d.day
