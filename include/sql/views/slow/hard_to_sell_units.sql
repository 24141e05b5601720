-- Units by month, ranked by how hard they are to sell (docs/funnel-paths.md), with their names.
SELECT
    slow_unit_difficulty.month,
    slow_unit_difficulty.difficulty_rank,
    projects.project_name,
    units.unit_name,
    slow_unit_difficulty.agents,
    slow_unit_difficulty.mean_steps,
    slow_unit_difficulty.days_on_market,
    slow_unit_difficulty.sales,
    slow_unit_difficulty.signed_sales
FROM slow_unit_difficulty
LEFT JOIN units ON slow_unit_difficulty.unit_id = units.unit_id
LEFT JOIN projects ON units.project_id = projects.project_id
