SELECT
    l.order_id,
    l.line,
    l.product_id,
    p.category,
    o.currency,
    DATE_FORMAT(FROM_UTC_TIMESTAMP(o.ordered_at, :time_zone), 'yyyy-MM-dd') AS day,
    l.quantity * l.price AS amount
FROM order_lines AS l
INNER JOIN orders AS o ON l.order_id = o.id
LEFT JOIN products AS p ON l.product_id = p.id
