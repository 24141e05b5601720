-- check: grain_is_unique
-- One row for each live sale.
SELECT sale_id
FROM slow_sale_paths
GROUP BY sale_id
HAVING COUNT(*) > 1;

-- check: path_has_its_steps
-- A path has as many steps as statuses and times, and some when a status is known.
SELECT sale_id
FROM slow_sale_paths
WHERE
    steps <> CARDINALITY(path)
    OR steps <> CARDINALITY(path_times)
    OR (steps = 0 AND last_status_id IS NOT NULL);

-- check: signed_means_a_date
-- A path is signed when it has a signing date, and only then.
SELECT sale_id
FROM slow_sale_paths
WHERE is_signed IS DISTINCT FROM (signed_at IS NOT NULL);

-- check: sale_lies_in_its_month
-- The partition is the month of the sale's first event (UTC).
SELECT
    sale_id,
    month
FROM slow_sale_paths
WHERE
    TRY_CAST(DATE_TRUNC('month', opened_at) AS DATE)
    IS DISTINCT FROM TRY_CAST(REPLACE('month-01', 'month', month) AS DATE);

-- check: sale_is_in_the_log
-- No path is known but from the sale's events.
SELECT slow_sale_paths.sale_id
FROM slow_sale_paths
LEFT JOIN sales_log ON slow_sale_paths.sale_id = sales_log.sale_id
WHERE sales_log.sale_id IS NULL;
