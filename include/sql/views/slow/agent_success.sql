-- How agents' sales went, by the month in which they began (docs/funnel-paths.md), with their names.
SELECT
    slow_agent_success.month,
    agents.agent_name,
    slow_agent_success.sales,
    slow_agent_success.signed,
    slow_agent_success.closed,
    slow_agent_success.share_signed,
    slow_agent_success.success_rate,
    slow_agent_success.mean_steps,
    slow_agent_success.steps_1,
    slow_agent_success.steps_2,
    slow_agent_success.steps_3,
    slow_agent_success.steps_4,
    slow_agent_success.steps_5,
    slow_agent_success.steps_6,
    slow_agent_success.steps_7_up
FROM slow_agent_success
LEFT JOIN agents ON slow_agent_success.agent_id = agents.agent_id
