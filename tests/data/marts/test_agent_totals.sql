SELECT
    agent_id,
    COUNT(*) AS sales,
    COUNT(contract_subtotal) AS priced,
    SUM(contract_subtotal) AS total,
    AVG(contract_subtotal) AS mean,
    MIN(contract_subtotal) AS least,
    MAX(contract_signing_date) AS last_signing
FROM sales
GROUP BY agent_id
