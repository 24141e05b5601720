-- check: grain_is_unique
-- One row for each unit and month.
SELECT
    month,
    unit_id
FROM slow_unit_difficulty
GROUP BY month, unit_id
HAVING COUNT(*) > 1;

-- check: numbers_fit_together
-- No unit has more signed sales than sales, and no number is negative.
SELECT
    month,
    unit_id
FROM slow_unit_difficulty
WHERE sales < 1 OR signed_sales > sales OR signed_sales < 0 OR agents < 0 OR days_on_market < 0;

-- check: month_has_a_hardest_unit
-- The ranks of a month begin at 1.
SELECT month
FROM slow_unit_difficulty
GROUP BY month
HAVING MIN(difficulty_rank) <> 1;

-- check: sales_add_up_to_the_paths
-- A unit's sales of a month are the paths over it.
WITH paths AS (
    SELECT
        month,
        unit_id,
        COUNT(*) AS sales
    FROM slow_sale_paths
    WHERE unit_id IS NOT NULL
    GROUP BY month, unit_id
)

SELECT
    COALESCE(slow_unit_difficulty.month, paths.month) AS month,
    COALESCE(slow_unit_difficulty.unit_id, paths.unit_id) AS unit_id
FROM slow_unit_difficulty
FULL OUTER JOIN paths
    ON slow_unit_difficulty.month = paths.month AND slow_unit_difficulty.unit_id = paths.unit_id
WHERE COALESCE(slow_unit_difficulty.sales, 0) <> COALESCE(paths.sales, 0);

-- check: unit_is_known
-- A row's unit, when it is known, has a row of its own.
SELECT
    slow_unit_difficulty.month,
    slow_unit_difficulty.unit_id
FROM slow_unit_difficulty
LEFT JOIN units ON slow_unit_difficulty.unit_id = units.unit_id
WHERE
    slow_unit_difficulty.unit_id IS NOT NULL
    AND units.unit_id IS NULL;
