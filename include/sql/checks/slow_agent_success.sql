-- check: grain_is_unique
-- One row for each agent and month.
SELECT
    month,
    agent_id
FROM slow_agent_success
GROUP BY month, agent_id
HAVING COUNT(*) > 1;

-- check: numbers_fit_together
-- Signed sales are closed ones, closed sales are sales, and a sale has one number of steps.
SELECT
    month,
    agent_id
FROM slow_agent_success
WHERE
    sales < 1
    OR signed > closed
    OR closed > sales
    OR steps_1 + steps_2 + steps_3 + steps_4 + steps_5 + steps_6 + steps_7_up > sales;

-- check: shares_lie_between_0_and_1
-- A share of nothing is null.
SELECT
    month,
    agent_id
FROM slow_agent_success
WHERE share_signed NOT BETWEEN 0 AND 1 OR success_rate NOT BETWEEN 0 AND 1;

-- check: sales_add_up_to_the_paths
-- An agent's sales of a month are the paths with that agent.
WITH paths AS (
    SELECT
        month,
        agent_id,
        COUNT(*) AS sales
    FROM slow_sale_paths
    WHERE agent_id IS NOT NULL
    GROUP BY month, agent_id
)

SELECT
    COALESCE(slow_agent_success.month, paths.month) AS month,
    COALESCE(slow_agent_success.agent_id, paths.agent_id) AS agent_id
FROM slow_agent_success
FULL OUTER JOIN paths
    ON slow_agent_success.month = paths.month AND slow_agent_success.agent_id = paths.agent_id
WHERE COALESCE(slow_agent_success.sales, 0) <> COALESCE(paths.sales, 0);

-- check: agent_is_known
-- A row's agent, when it is known, has a row of its own. Erased people (0) have none.
SELECT
    slow_agent_success.month,
    slow_agent_success.agent_id
FROM slow_agent_success
LEFT JOIN agents ON slow_agent_success.agent_id = agents.agent_id
WHERE
    slow_agent_success.agent_id IS NOT NULL
    AND agents.agent_id IS NULL
    AND slow_agent_success.agent_id <> 0;
