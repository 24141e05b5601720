WITH steps_of_sales AS (
    SELECT
        sale_id,
        agent_id,
        project_id,
        contract_subtotal,
        EXPLODE(ARRAYS_ZIP(path, path_times)) AS step
    FROM slow_sale_paths
    WHERE agent_id IS NOT NULL AND contract_subtotal IS NOT NULL
)

SELECT
    sale_id,
    step.path AS status_id,
    DATE_FORMAT(FROM_UTC_TIMESTAMP(step.path_times, :time_zone), 'yyyy-MM') AS month,
    step.path_times AS reached_at,
    agent_id,
    project_id,
    contract_subtotal
FROM steps_of_sales
