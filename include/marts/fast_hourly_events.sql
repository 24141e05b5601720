-- Every event counts, deletes too, under the groups it carries itself; null is a group of its own.
SELECT
    DATE_TRUNC('hour', event_time) AS event_hour,
    project_id,
    status_id,
    COUNT(DISTINCT event_id) AS events
FROM sales_log
GROUP BY DATE_TRUNC('hour', event_time), project_id, status_id
