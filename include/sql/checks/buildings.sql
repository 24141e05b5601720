-- check: key_is_unique
-- One row for each building, and none without a key.
SELECT building_id
FROM buildings
GROUP BY building_id
HAVING COUNT(*) > 1 OR building_id IS NULL;

-- check: log_is_taken_over
-- What a live event of the log names has its row, once the log was split.
SELECT DISTINCT sales_log.building_id
FROM sales_log
LEFT JOIN buildings ON sales_log.building_id = buildings.building_id
WHERE
    buildings.building_id IS NULL
    AND sales_log.building_id IS NOT NULL
    AND sales_log.op <> 'd';

-- check: name_is_known
-- A building has a name.
SELECT building_id
FROM buildings
WHERE building_name IS NULL;

-- check: building_is_in_one_project
-- The units of a building are all of one project.
SELECT building_id
FROM units
WHERE building_id IN (SELECT buildings.building_id FROM buildings)
GROUP BY building_id
HAVING COUNT(DISTINCT project_id) > 1;
