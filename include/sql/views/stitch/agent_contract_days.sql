-- Contracts and their total by agent and day of signing, with their names.
SELECT
    stitch_agent_days.day,
    agents.agent_name,
    stitch_agent_days.contracts,
    stitch_agent_days.contract_total
FROM stitch_agent_days
LEFT JOIN agents ON stitch_agent_days.agent_id = agents.agent_id
