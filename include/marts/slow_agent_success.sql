-- Closed: signed, or last seen Lost (9) or Cancelled (10).
WITH agents_of_month AS (
    SELECT
        month,
        agent_id,
        COUNT(*) AS sales,
        COUNT(signed_at) AS signed,
        COUNT_IF(is_signed OR last_status_id IN (9, 10)) AS closed,
        SUM(steps) AS steps,
        COUNT_IF(steps = 1) AS steps_1,
        COUNT_IF(steps = 2) AS steps_2,
        COUNT_IF(steps = 3) AS steps_3,
        COUNT_IF(steps = 4) AS steps_4,
        COUNT_IF(steps = 5) AS steps_5,
        COUNT_IF(steps = 6) AS steps_6,
        COUNT_IF(steps >= 7) AS steps_7_up
    FROM slow_sale_paths
    WHERE agent_id IS NOT NULL
    GROUP BY month, agent_id
)

SELECT
    month,
    agent_id,
    sales,
    signed,
    closed,
    CAST(CAST(signed AS DECIMAL(18, 0)) / CAST(sales AS DECIMAL(18, 0)) AS DECIMAL(9, 6)) AS share_signed,
    CAST(
        CAST(signed AS DECIMAL(18, 0)) / CAST(NULLIF(closed, 0) AS DECIMAL(18, 0)) AS DECIMAL(9, 6)
    ) AS success_rate,
    CAST(CAST(steps AS DECIMAL(18, 0)) / CAST(sales AS DECIMAL(18, 0)) AS DECIMAL(18, 4)) AS mean_steps,
    steps_1,
    steps_2,
    steps_3,
    steps_4,
    steps_5,
    steps_6,
    steps_7_up
FROM agents_of_month
