-- What agents are credited with by month, and by which rules (docs/rules.md), with their names.
SELECT
    slow_agent_performance.month,
    agents.agent_name,
    slow_agent_performance.performance,
    slow_agent_performance.milestones,
    slow_agent_performance.rules_version
FROM slow_agent_performance
LEFT JOIN agents ON slow_agent_performance.agent_id = agents.agent_id
