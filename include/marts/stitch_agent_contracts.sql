SELECT
    agent_id,
    SUM(contracts) AS contracts,
    CAST(COALESCE(SUM(contract_total), 0) AS DECIMAL(38, 4)) AS contract_total
FROM stitch_agent_days
GROUP BY agent_id
