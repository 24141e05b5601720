-- check: key_is_unique
-- One row for each live sale, and none without a key.
SELECT sale_id
FROM sales
GROUP BY sale_id
HAVING COUNT(*) > 1 OR sale_id IS NULL;

-- check: sale_is_in_the_log
-- No sale is known but from its events.
SELECT sales.sale_id
FROM sales
LEFT JOIN sales_log ON sales.sale_id = sales_log.sale_id
WHERE sales_log.sale_id IS NULL;

-- check: unit_is_known
-- A sale's unit, when it is known, has a row of its own.
SELECT
    sales.sale_id,
    sales.unit_id
FROM sales
LEFT JOIN units ON sales.unit_id = units.unit_id
WHERE
    sales.unit_id IS NOT NULL
    AND units.unit_id IS NULL;

-- check: status_is_known
-- A sale's status, when it is known, has a row of its own.
SELECT
    sales.sale_id,
    sales.status_id
FROM sales
LEFT JOIN statuses ON sales.status_id = statuses.status_id
WHERE
    sales.status_id IS NOT NULL
    AND statuses.status_id IS NULL;

-- check: agent_is_known
-- A sale's agent, when it is known, has a row of its own. Erased people (0) have none.
SELECT
    sales.sale_id,
    sales.agent_id
FROM sales
LEFT JOIN agents ON sales.agent_id = agents.agent_id
WHERE
    sales.agent_id IS NOT NULL
    AND agents.agent_id IS NULL
    AND sales.agent_id <> 0;

-- check: customer_is_known
-- A sale's customer, when it is known, has a row of its own. Erased people (0) have none.
SELECT
    sales.sale_id,
    sales.customer_id
FROM sales
LEFT JOIN customers ON sales.customer_id = customers.customer_id
WHERE
    sales.customer_id IS NOT NULL
    AND customers.customer_id IS NULL
    AND sales.customer_id <> 0;

-- check: subtotal_is_not_negative
-- A contract's subtotal is an amount that is owed, not one that is given back.
SELECT sale_id
FROM sales
WHERE contract_subtotal < 0;

-- check: signed_sale_has_a_subtotal
-- A sale with a signing date, or with the status Contract signed (8), says for how much.
SELECT sale_id
FROM sales
WHERE contract_subtotal IS NULL AND (contract_signing_date IS NOT NULL OR status_id = 8);

-- check: signing_date_belongs_to_a_signed_sale
-- Only a sale that was signed (8), or cancelled after that (10), has a signing date.
SELECT
    sale_id,
    status_id
FROM sales
WHERE contract_signing_date IS NOT NULL AND status_id NOT IN (8, 10);

-- check: signing_date_is_not_in_the_future
-- No contract is signed more than a day (clocks have zones) after the newest event there is.
WITH events AS (
    SELECT MAX(event_time) AS newest
    FROM sales_log
)

SELECT sales.sale_id
FROM sales
CROSS JOIN events
WHERE sales.contract_signing_date > events.newest + INTERVAL '1' DAY;

-- check: unit_is_sold_once
-- A unit is in one signed sale (8) at a time.
SELECT unit_id
FROM sales
WHERE status_id = 8 AND unit_id IS NOT NULL
GROUP BY unit_id
HAVING COUNT(*) > 1;
