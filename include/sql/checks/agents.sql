-- check: key_is_unique
-- One row for each agent, and none without a key.
SELECT agent_id
FROM agents
GROUP BY agent_id
HAVING COUNT(*) > 1 OR agent_id IS NULL;

-- check: log_is_taken_over
-- What a live event of the log names has its row, once the log was split. Erased people (0) have none.
SELECT DISTINCT sales_log.agent_id
FROM sales_log
LEFT JOIN agents ON sales_log.agent_id = agents.agent_id
WHERE
    agents.agent_id IS NULL
    AND sales_log.agent_id IS NOT NULL
    AND sales_log.op <> 'd'
    AND sales_log.agent_id <> 0;

-- check: name_is_known
-- An agent has a name.
SELECT agent_id
FROM agents
WHERE agent_name IS NULL;
