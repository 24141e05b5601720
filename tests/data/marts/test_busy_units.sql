SELECT
    unit_id,
    COUNT(*) AS agents,
    SUM(sales) AS sales,
    MAX(place) AS last_place
FROM test_unit_agents
GROUP BY unit_id
