-- Contracts of the last year and their total, by agent, with their names.
SELECT
    agents.agent_name,
    stitch_agent_contracts.contracts,
    stitch_agent_contracts.contract_total
FROM stitch_agent_contracts
LEFT JOIN agents ON stitch_agent_contracts.agent_id = agents.agent_id
