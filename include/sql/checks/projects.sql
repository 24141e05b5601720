-- check: key_is_unique
-- One row for each project, and none without a key.
SELECT project_id
FROM projects
GROUP BY project_id
HAVING COUNT(*) > 1 OR project_id IS NULL;

-- check: log_is_taken_over
-- What a live event of the log names has its row, once the log was split.
SELECT DISTINCT sales_log.project_id
FROM sales_log
LEFT JOIN projects ON sales_log.project_id = projects.project_id
WHERE
    projects.project_id IS NULL
    AND sales_log.project_id IS NOT NULL
    AND sales_log.op <> 'd';

-- check: name_is_known
-- A project has a name.
SELECT project_id
FROM projects
WHERE project_name IS NULL;
