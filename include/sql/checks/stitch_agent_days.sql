-- check: grain_is_unique
-- One row for each agent and day of signing.
SELECT
    agent_id,
    day
FROM stitch_agent_days
GROUP BY agent_id, day
HAVING COUNT(*) > 1;

-- check: contracts_are_counted
-- A row is there because there were contracts, and their total is not negative.
SELECT
    agent_id,
    day
FROM stitch_agent_days
WHERE contracts IS NULL OR contracts < 1 OR contract_total < 0;

-- check: day_lies_in_its_month
-- The partition is the month of the day.
SELECT
    agent_id,
    day,
    month
FROM stitch_agent_days
WHERE day NOT LIKE '____-__-__' OR LENGTH(REPLACE(day, month, '')) <> 3;
