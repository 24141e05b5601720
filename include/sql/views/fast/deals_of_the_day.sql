-- Deals signed on the mart's day, by project and agent, with their names.
SELECT
    fast_daily_deals.day,
    projects.project_name,
    agents.agent_name,
    fast_daily_deals.deals,
    fast_daily_deals.contract_total
FROM fast_daily_deals
LEFT JOIN projects ON fast_daily_deals.project_id = projects.project_id
LEFT JOIN agents ON fast_daily_deals.agent_id = agents.agent_id
