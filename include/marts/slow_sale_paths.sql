-- Events in the source's order. The newest delete of a sale voids itself and all before it.
WITH ordered_events AS (
    SELECT
        sale_id,
        event_order,
        event_time,
        unit_id,
        project_id,
        building_id,
        customer_id,
        agent_id,
        status_id,
        contract_subtotal,
        contract_signing_date,
        ROW_NUMBER() OVER (PARTITION BY sale_id ORDER BY event_order, event_id) AS place,
        MAX(CASE WHEN op = 'd' THEN event_order END) OVER (PARTITION BY sale_id) AS deleted_order
    FROM sales_log
),

-- A null says nothing, so the newest value is the newest that is not null.
sales_so_far AS (
    SELECT
        sale_id,
        MIN_BY(event_time, place) AS opened_at,
        MAX_BY(event_time, place) AS last_event_at,
        MAX_BY(unit_id, place) FILTER (WHERE unit_id IS NOT NULL) AS unit_id,
        MAX_BY(project_id, place) FILTER (WHERE project_id IS NOT NULL) AS project_id,
        MAX_BY(building_id, place) FILTER (WHERE building_id IS NOT NULL) AS building_id,
        MAX_BY(customer_id, place) FILTER (WHERE customer_id IS NOT NULL) AS customer_id,
        MAX_BY(agent_id, place) FILTER (WHERE agent_id IS NOT NULL) AS agent_id,
        MAX_BY(status_id, place) FILTER (WHERE status_id IS NOT NULL) AS last_status_id,
        MAX_BY(contract_subtotal, place) FILTER (WHERE contract_subtotal IS NOT NULL) AS contract_subtotal,
        MAX_BY(contract_signing_date, place) FILTER (WHERE contract_signing_date IS NOT NULL) AS signed_at,
        ARRAY_SORT(COLLECT_SET(agent_id)) AS agents,
        ARRAY_SORT(
            COLLECT_LIST(CASE WHEN status_id IS NOT NULL THEN STRUCT(place, status_id, event_time) END)
        ) AS reached
    FROM ordered_events
    WHERE deleted_order IS NULL OR event_order > deleted_order
    GROUP BY sale_id
),

-- array_distinct keeps the first of equal elements where it is.
sale_paths AS (
    SELECT
        *,
        TRANSFORM(reached, step -> step.status_id) AS statuses,
        ARRAY_DISTINCT(TRANSFORM(reached, step -> step.status_id)) AS path
    FROM sales_so_far
)

SELECT
    sale_id,
    DATE_FORMAT(FROM_UTC_TIMESTAMP(opened_at, :time_zone), 'yyyy-MM') AS month,
    opened_at,
    last_event_at,
    unit_id,
    project_id,
    building_id,
    customer_id,
    agent_id,
    agents,
    path,
    TRANSFORM(
        path, status -> ELEMENT_AT(reached, CAST(ARRAY_POSITION(statuses, status) AS INT)).event_time
    ) AS path_times,
    CAST(SIZE(path) AS BIGINT) AS steps,
    last_status_id,
    contract_subtotal,
    signed_at,
    signed_at IS NOT NULL AS is_signed
FROM sale_paths
