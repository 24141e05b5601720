-- Types are chosen so that the product is exact, decimal(38, 16); it is rounded once, before it is summed.
SELECT
    slow_milestones.month,
    slow_milestones.agent_id,
    CAST(
        SUM(
            ROUND(
                slow_milestones.contract_subtotal
                * rule_shares.share
                * COALESCE(rule_bonuses.factor, CAST(1 AS DECIMAL(9, 6))),
                6
            )
        ) AS DECIMAL(38, 6)
    ) AS performance,
    COUNT(*) AS milestones,
    MAX(rule_shares.rules_version) AS rules_version
FROM slow_milestones
INNER JOIN rule_shares
    ON slow_milestones.month = rule_shares.month AND slow_milestones.status_id = rule_shares.status_id
LEFT JOIN rule_bonuses
    ON slow_milestones.month = rule_bonuses.month AND slow_milestones.project_id = rule_bonuses.project_id
GROUP BY slow_milestones.month, slow_milestones.agent_id
