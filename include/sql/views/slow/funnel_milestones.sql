-- Sales that reached a step of the funnel, by the month in which they did, with the step's name, and how many of them
-- were signed (8) so far; Lost (9) and Cancelled (10) are no steps.
SELECT
    slow_milestones.month,
    slow_milestones.status_id,
    statuses.status_name,
    COUNT(*) AS sales,
    COUNT(signed_sales.sale_id) AS signed
FROM slow_milestones
LEFT JOIN slow_milestones AS signed_sales
    ON slow_milestones.sale_id = signed_sales.sale_id AND signed_sales.status_id = 8
LEFT JOIN statuses ON slow_milestones.status_id = statuses.status_id
WHERE slow_milestones.status_id <> 9 AND slow_milestones.status_id <> 10
GROUP BY slow_milestones.month, slow_milestones.status_id, statuses.status_name
