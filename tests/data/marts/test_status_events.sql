SELECT
    status_id,
    COUNT(*) AS events,
    SUM(contract_subtotal) AS total
FROM test_signed_events
GROUP BY status_id
