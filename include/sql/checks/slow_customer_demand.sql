-- check: grain_is_unique
-- One row for each customer and month.
SELECT
    month,
    customer_id
FROM slow_customer_demand
GROUP BY month, customer_id
HAVING COUNT(*) > 1;

-- check: numbers_fit_together
-- No customer has more short paths, or units, than paths.
SELECT
    month,
    customer_id
FROM slow_customer_demand
WHERE paths < 1 OR short_paths > paths OR units > paths OR short_paths < 0 OR units < 0;

-- check: paths_add_up
-- A customer's paths of a month are those of the table of paths.
WITH paths AS (
    SELECT
        month,
        customer_id,
        COUNT(*) AS sales
    FROM slow_sale_paths
    WHERE customer_id IS NOT NULL
    GROUP BY month, customer_id
)

SELECT
    COALESCE(slow_customer_demand.month, paths.month) AS month,
    COALESCE(slow_customer_demand.customer_id, paths.customer_id) AS customer_id
FROM slow_customer_demand
FULL OUTER JOIN paths
    ON slow_customer_demand.month = paths.month AND slow_customer_demand.customer_id = paths.customer_id
WHERE COALESCE(slow_customer_demand.paths, 0) <> COALESCE(paths.sales, 0);

-- check: customer_is_known
-- A row's customer, when it is known, has a row of its own. Erased people (0) have none.
SELECT
    slow_customer_demand.month,
    slow_customer_demand.customer_id
FROM slow_customer_demand
LEFT JOIN customers ON slow_customer_demand.customer_id = customers.customer_id
WHERE
    slow_customer_demand.customer_id IS NOT NULL
    AND customers.customer_id IS NULL
    AND slow_customer_demand.customer_id <> 0;
