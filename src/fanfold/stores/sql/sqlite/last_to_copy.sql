-- The last of the next rows: at most so many, and of so many bytes, unless one alone has more.
SELECT max(number) FROM (
    SELECT number, sum(size) OVER (ORDER BY number) - size AS before
    FROM (SELECT rowid AS number, {size} AS size FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT ?)
) WHERE before < ?
