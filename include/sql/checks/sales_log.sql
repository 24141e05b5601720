-- check: event_id_is_unique
-- Each event is in the log once, however often it was delivered.
SELECT event_id
FROM sales_log
GROUP BY event_id
HAVING COUNT(*) > 1;

-- check: event_says_what_and_when
-- Every event has a sale, a known operation, its place in the source's order and a time.
SELECT event_id
FROM sales_log
WHERE
    sale_id IS NULL
    OR op IS NULL
    OR op NOT IN ('c', 'u', 'd', 'r')
    OR event_order IS NULL
    OR event_time IS NULL;

-- check: event_lies_in_its_day
-- The partition is the day of the event's time, in UTC.
SELECT event_id
FROM sales_log
WHERE TRY_CAST(event_date AS DATE) IS DISTINCT FROM TRY_CAST(event_time AS DATE);

-- check: event_is_not_of_the_future
-- No event happened more than a day after the run that took it in.
SELECT event_id
FROM sales_log
WHERE event_time > ingest_time + INTERVAL '1' DAY;
