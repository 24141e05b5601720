SELECT
    statuses.status_name,
    COUNT(*) AS sales,
    SUM(sales.contract_subtotal) AS total
FROM sales
INNER JOIN statuses ON sales.status_id = statuses.status_id
GROUP BY statuses.status_name
