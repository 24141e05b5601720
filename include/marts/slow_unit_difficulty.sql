WITH units_of_month AS (
    SELECT
        month,
        unit_id,
        COUNT(*) AS sales,
        CAST(SIZE(ARRAY_DISTINCT(FLATTEN(ARRAY_SORT(COLLECT_LIST(agents))))) AS BIGINT) AS agents,
        CAST(CAST(SUM(steps) AS DECIMAL(18, 0)) / CAST(COUNT(*) AS DECIMAL(18, 0)) AS DECIMAL(18, 4)) AS mean_steps,
        CAST(
            GREATEST(
                DATEDIFF(
                    FROM_UTC_TIMESTAMP(COALESCE(MIN(signed_at), MAX(last_event_at)), :time_zone),
                    FROM_UTC_TIMESTAMP(MIN(opened_at), :time_zone)
                ),
                0
            ) AS BIGINT
        ) AS days_on_market,
        COUNT(signed_at) AS signed_sales
    FROM slow_sale_paths
    WHERE unit_id IS NOT NULL
    GROUP BY month, unit_id
)

SELECT
    month,
    unit_id,
    sales,
    agents,
    mean_steps,
    days_on_market,
    signed_sales,
    DENSE_RANK() OVER (
        PARTITION BY month
        ORDER BY signed_sales > 0, agents DESC, mean_steps DESC, days_on_market DESC
    ) AS difficulty_rank
FROM units_of_month
