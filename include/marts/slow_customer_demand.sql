WITH customers_of_month AS (
    SELECT
        month,
        customer_id,
        COUNT(*) AS paths,
        COUNT(DISTINCT unit_id) AS units,
        SUM(steps) AS steps,
        COUNT_IF(steps <= 3) AS short_paths
    FROM slow_sale_paths
    WHERE customer_id IS NOT NULL
    GROUP BY month, customer_id
)

SELECT
    month,
    customer_id,
    paths,
    units,
    CAST(CAST(steps AS DECIMAL(18, 0)) / CAST(paths AS DECIMAL(18, 0)) AS DECIMAL(18, 4)) AS mean_steps,
    short_paths,
    CAST(
        CAST(paths AS DECIMAL(18, 0)) / CAST(NULLIF(units, 0) AS DECIMAL(18, 0)) AS DECIMAL(18, 4)
    ) AS paths_per_unit,
    short_paths >= 3 AND units >= 3 AS is_demanding
FROM customers_of_month
