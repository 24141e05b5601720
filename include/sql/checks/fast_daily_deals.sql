-- check: grain_is_unique
-- One row for each project and agent of the day.
SELECT
    day,
    project_id,
    agent_id
FROM fast_daily_deals
GROUP BY day, project_id, agent_id
HAVING COUNT(*) > 1;

-- check: deals_are_counted
-- A row is there because there were deals, and their total is not negative.
SELECT
    day,
    project_id,
    agent_id
FROM fast_daily_deals
WHERE deals IS NULL OR deals < 1 OR contract_total IS NULL OR contract_total < 0;

-- check: there_is_one_day
-- The mart's window is the day of its clock.
WITH days AS (
    SELECT MAX(day) AS newest
    FROM fast_daily_deals
)

SELECT
    fast_daily_deals.day,
    fast_daily_deals.project_id,
    fast_daily_deals.agent_id
FROM fast_daily_deals
CROSS JOIN days
WHERE fast_daily_deals.day <> days.newest;

-- check: deals_add_up_to_the_sales
-- The day's deals and their total are those of the sales signed on it (UTC), once the layer was refreshed.
WITH marked AS (
    SELECT
        TRY_CAST(day AS DATE) AS day,
        SUM(deals) AS deals,
        SUM(contract_total) AS contract_total
    FROM fast_daily_deals
    GROUP BY TRY_CAST(day AS DATE)
),

signed AS (
    SELECT
        TRY_CAST(contract_signing_date AS DATE) AS day,
        COUNT(*) AS deals,
        SUM(contract_subtotal) AS contract_total
    FROM sales
    GROUP BY TRY_CAST(contract_signing_date AS DATE)
)

SELECT marked.day
FROM marked
LEFT JOIN signed ON marked.day = signed.day
WHERE
    signed.day IS NULL
    OR marked.deals <> signed.deals
    OR marked.contract_total <> COALESCE(signed.contract_total, 0);

-- check: project_is_known
-- A row's project, when it is known, has a row of its own.
SELECT
    fast_daily_deals.day,
    fast_daily_deals.project_id,
    fast_daily_deals.agent_id
FROM fast_daily_deals
LEFT JOIN projects ON fast_daily_deals.project_id = projects.project_id
WHERE
    fast_daily_deals.project_id IS NOT NULL
    AND projects.project_id IS NULL;

-- check: agent_is_known
-- A row's agent, when it is known, has a row of its own. Erased people (0) have none.
SELECT
    fast_daily_deals.day,
    fast_daily_deals.project_id,
    fast_daily_deals.agent_id
FROM fast_daily_deals
LEFT JOIN agents ON fast_daily_deals.agent_id = agents.agent_id
WHERE
    fast_daily_deals.agent_id IS NOT NULL
    AND agents.agent_id IS NULL
    AND fast_daily_deals.agent_id <> 0;
