-- check: grain_is_unique
-- A sale reaches a status once.
SELECT
    sale_id,
    status_id
FROM slow_milestones
GROUP BY sale_id, status_id
HAVING COUNT(*) > 1;

-- check: milestone_lies_in_its_month
-- The partition is the month in which the status was reached (UTC).
SELECT
    sale_id,
    status_id,
    month
FROM slow_milestones
WHERE
    TRY_CAST(DATE_TRUNC('month', reached_at) AS DATE)
    IS DISTINCT FROM TRY_CAST(REPLACE('month-01', 'month', month) AS DATE);

-- check: milestones_are_the_steps_of_their_sale
-- A sale with an agent and a subtotal has a milestone for each step of its path, and no other sale has any.
WITH reached AS (
    SELECT
        sale_id,
        COUNT(*) AS steps
    FROM slow_milestones
    GROUP BY sale_id
),

expected AS (
    SELECT
        sale_id,
        steps
    FROM slow_sale_paths
    WHERE agent_id IS NOT NULL AND contract_subtotal IS NOT NULL
)

SELECT COALESCE(reached.sale_id, expected.sale_id) AS sale_id
FROM reached
FULL OUTER JOIN expected ON reached.sale_id = expected.sale_id
WHERE COALESCE(reached.steps, 0) <> COALESCE(expected.steps, 0);
