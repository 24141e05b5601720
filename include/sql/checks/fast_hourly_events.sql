-- check: grain_is_unique
-- One row for each hour, project and status.
SELECT
    event_hour,
    project_id,
    status_id
FROM fast_hourly_events
GROUP BY event_hour, project_id, status_id
HAVING COUNT(*) > 1;

-- check: events_are_counted
-- A row is there because there were events.
SELECT
    event_hour,
    project_id,
    status_id
FROM fast_hourly_events
WHERE events IS NULL OR events < 1;

-- check: hours_are_of_one_day
-- The mart's window is 24 hours.
WITH hours AS (
    SELECT MAX(event_hour) AS newest
    FROM fast_hourly_events
)

SELECT
    fast_hourly_events.event_hour,
    fast_hourly_events.project_id,
    fast_hourly_events.status_id
FROM fast_hourly_events
CROSS JOIN hours
WHERE fast_hourly_events.event_hour <= hours.newest - INTERVAL '24' HOUR;

-- check: hours_add_up_to_the_log
-- Between the first and the last hour it has as many events of each hour as the log, once the layer was refreshed.
WITH marked AS (
    SELECT
        event_hour,
        SUM(events) AS events
    FROM fast_hourly_events
    GROUP BY event_hour
),

logged AS (
    SELECT
        DATE_TRUNC('hour', event_time) AS event_hour,
        COUNT(DISTINCT event_id) AS events
    FROM sales_log
    GROUP BY DATE_TRUNC('hour', event_time)
),

hours AS (
    SELECT
        MIN(event_hour) AS oldest,
        MAX(event_hour) AS newest
    FROM fast_hourly_events
)

SELECT COALESCE(marked.event_hour, logged.event_hour) AS event_hour
FROM logged
FULL OUTER JOIN marked ON logged.event_hour = marked.event_hour
CROSS JOIN hours
WHERE
    COALESCE(marked.event_hour, logged.event_hour) BETWEEN hours.oldest AND hours.newest
    AND COALESCE(marked.events, 0) <> COALESCE(logged.events, 0);

-- check: project_is_known
-- A row's project, when it is known, has a row of its own.
SELECT
    fast_hourly_events.event_hour,
    fast_hourly_events.project_id,
    fast_hourly_events.status_id
FROM fast_hourly_events
LEFT JOIN projects ON fast_hourly_events.project_id = projects.project_id
WHERE
    fast_hourly_events.project_id IS NOT NULL
    AND projects.project_id IS NULL;

-- check: status_is_known
-- A row's status, when it is known, has a row of its own.
SELECT
    fast_hourly_events.event_hour,
    fast_hourly_events.project_id,
    fast_hourly_events.status_id
FROM fast_hourly_events
LEFT JOIN statuses ON fast_hourly_events.status_id = statuses.status_id
WHERE
    fast_hourly_events.status_id IS NOT NULL
    AND statuses.status_id IS NULL;
