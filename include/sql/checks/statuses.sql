-- check: key_is_unique
-- One row for each status, and none without a key.
SELECT status_id
FROM statuses
GROUP BY status_id
HAVING COUNT(*) > 1 OR status_id IS NULL;

-- check: log_is_taken_over
-- What a live event of the log names has its row, once the log was split.
SELECT DISTINCT sales_log.status_id
FROM sales_log
LEFT JOIN statuses ON sales_log.status_id = statuses.status_id
WHERE
    statuses.status_id IS NULL
    AND sales_log.status_id IS NOT NULL
    AND sales_log.op <> 'd';

-- check: name_is_known
-- A status has a name.
SELECT status_id
FROM statuses
WHERE status_name IS NULL;
