-- check: result_is_kept_once
-- The same expectation of the same state is one row, however often it was checked.
SELECT result_id
FROM lake_quality
GROUP BY result_id
HAVING COUNT(*) > 1 OR result_id IS NULL;

-- check: every_commit_of_the_log_balances
-- What a batch read is what it wrote, set aside, or knew.
SELECT result_id
FROM lake_quality
WHERE expectation = 'every_record_is_accounted_for' AND outcome <> 'held';

-- check: no_more_rows_break_than_are_asked
-- Of the rows that were checked, some break an expectation, at most all.
SELECT result_id
FROM lake_quality
WHERE rows_broken > rows_asked OR rows_broken < 0 OR rows_asked < 0;
