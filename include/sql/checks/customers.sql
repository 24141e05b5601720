-- check: key_is_unique
-- One row for each customer, and none without a key.
SELECT customer_id
FROM customers
GROUP BY customer_id
HAVING COUNT(*) > 1 OR customer_id IS NULL;

-- check: log_is_taken_over
-- What a live event of the log names has its row, once the log was split. Erased people (0) have none.
SELECT DISTINCT sales_log.customer_id
FROM sales_log
LEFT JOIN customers ON sales_log.customer_id = customers.customer_id
WHERE
    customers.customer_id IS NULL
    AND sales_log.customer_id IS NOT NULL
    AND sales_log.op <> 'd'
    AND sales_log.customer_id <> 0;
