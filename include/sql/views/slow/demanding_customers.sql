-- Customers with many short paths over many units, by month (docs/funnel-paths.md), with their names.
SELECT
    slow_customer_demand.month,
    customers.customer_name,
    slow_customer_demand.paths,
    slow_customer_demand.units,
    slow_customer_demand.mean_steps,
    slow_customer_demand.short_paths,
    slow_customer_demand.paths_per_unit
FROM slow_customer_demand
LEFT JOIN customers ON slow_customer_demand.customer_id = customers.customer_id
WHERE slow_customer_demand.is_demanding
