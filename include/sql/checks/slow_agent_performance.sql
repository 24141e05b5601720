-- check: grain_is_unique
-- One row for each agent and month.
SELECT
    month,
    agent_id
FROM slow_agent_performance
GROUP BY month, agent_id
HAVING COUNT(*) > 1;

-- check: month_has_one_version_of_the_rules
-- No one is counted by other rules than the others of the month (docs/rules.md).
SELECT month
FROM slow_agent_performance
GROUP BY month
HAVING COUNT(DISTINCT rules_version) <> 1;

-- check: milestones_are_there
-- What an agent is credited with in a month was reached in it.
WITH reached AS (
    SELECT
        month,
        agent_id,
        COUNT(*) AS milestones
    FROM slow_milestones
    GROUP BY month, agent_id
)

SELECT
    slow_agent_performance.month,
    slow_agent_performance.agent_id
FROM slow_agent_performance
LEFT JOIN reached
    ON slow_agent_performance.month = reached.month AND slow_agent_performance.agent_id = reached.agent_id
WHERE slow_agent_performance.milestones < 1 OR slow_agent_performance.milestones > COALESCE(reached.milestones, 0);
