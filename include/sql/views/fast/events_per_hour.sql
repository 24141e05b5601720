-- Events per hour of the last 24 hours, by project and status, with their names.
SELECT
    fast_hourly_events.event_hour,
    projects.project_name,
    statuses.status_name,
    fast_hourly_events.events
FROM fast_hourly_events
LEFT JOIN projects ON fast_hourly_events.project_id = projects.project_id
LEFT JOIN statuses ON fast_hourly_events.status_id = statuses.status_id
