-- Types are chosen so that the product is exact, decimal(38, 16); it is rounded once, before it is summed.
SELECT
    month,
    agent_id,
    CAST(SUM(ROUND(contract_subtotal * RULE('share') * RULE('factor'), 6)) AS DECIMAL(38, 6)) AS performance,
    COUNT(*) AS milestones,
    MAX(RULE('version')) AS rules_version
FROM slow_milestones
WHERE RULE('share') <> 0
GROUP BY month, agent_id
