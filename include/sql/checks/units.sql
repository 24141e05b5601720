-- check: key_is_unique
-- One row for each unit, and none without a key.
SELECT unit_id
FROM units
GROUP BY unit_id
HAVING COUNT(*) > 1 OR unit_id IS NULL;

-- check: log_is_taken_over
-- What a live event of the log names has its row, once the log was split.
SELECT DISTINCT sales_log.unit_id
FROM sales_log
LEFT JOIN units ON sales_log.unit_id = units.unit_id
WHERE
    units.unit_id IS NULL
    AND sales_log.unit_id IS NOT NULL
    AND sales_log.op <> 'd';

-- check: name_is_known
-- A unit has a name.
SELECT unit_id
FROM units
WHERE unit_name IS NULL;

-- check: building_is_known
-- A unit's building, when it is known, has a row of its own.
SELECT
    units.unit_id,
    units.building_id
FROM units
LEFT JOIN buildings ON units.building_id = buildings.building_id
WHERE units.building_id IS NOT NULL AND buildings.building_id IS NULL;

-- check: project_is_known
-- A unit's project, when it is known, has a row of its own.
SELECT
    units.unit_id,
    units.project_id
FROM units
LEFT JOIN projects ON units.project_id = projects.project_id
WHERE units.project_id IS NOT NULL AND projects.project_id IS NULL;
