-- Sales that reached a step of the funnel, by the month in which they did, with the step's name; Lost (9) and
-- Cancelled (10) are no steps.
SELECT
    slow_milestones.month,
    slow_milestones.status_id,
    statuses.status_name,
    COUNT(*) AS sales
FROM slow_milestones
LEFT JOIN statuses ON slow_milestones.status_id = statuses.status_id
WHERE slow_milestones.status_id <> 9 AND slow_milestones.status_id <> 10
GROUP BY slow_milestones.month, slow_milestones.status_id, statuses.status_name
