-- check: grain_is_unique
-- One row for each agent.
SELECT agent_id
FROM stitch_agent_contracts
GROUP BY agent_id
HAVING COUNT(*) > 1;

-- check: contracts_are_counted
-- An agent with a row has contracts, and their total is not negative.
SELECT agent_id
FROM stitch_agent_contracts
WHERE contracts IS NULL OR contracts < 1 OR contract_total IS NULL OR contract_total < 0;

-- check: year_is_a_part_of_all_sales
-- An agent's last year has no more contracts, and no greater total, than all that the agent ever signed.
WITH signed AS (
    SELECT
        COALESCE(agent_id, -1) AS agent_id,
        COUNT(*) AS contracts,
        SUM(contract_subtotal) AS contract_total
    FROM sales
    WHERE contract_signing_date IS NOT NULL
    GROUP BY COALESCE(agent_id, -1)
)

SELECT stitch_agent_contracts.agent_id
FROM stitch_agent_contracts
LEFT JOIN signed ON COALESCE(stitch_agent_contracts.agent_id, -1) = signed.agent_id
WHERE
    stitch_agent_contracts.contracts > COALESCE(signed.contracts, 0)
    OR stitch_agent_contracts.contract_total > COALESCE(signed.contract_total, 0);

-- check: agent_is_known
-- A row's agent, when it is known, has a row of its own. Erased people (0) have none.
SELECT stitch_agent_contracts.agent_id
FROM stitch_agent_contracts
LEFT JOIN agents ON stitch_agent_contracts.agent_id = agents.agent_id
WHERE
    stitch_agent_contracts.agent_id IS NOT NULL
    AND agents.agent_id IS NULL
    AND stitch_agent_contracts.agent_id <> 0;
