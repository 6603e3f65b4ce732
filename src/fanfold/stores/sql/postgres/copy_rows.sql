-- Copy some rows, but for those that are there because somebody wrote them meanwhile; and say which was the last.
WITH batch AS (
    SELECT * FROM fanfold.{table} WHERE {after} ORDER BY {key} LIMIT {most} FOR SHARE
), copied AS (
    INSERT INTO fanfold.{table}_next SELECT * FROM batch ON CONFLICT DO NOTHING
)
SELECT {key} FROM batch ORDER BY {backwards} LIMIT 1
