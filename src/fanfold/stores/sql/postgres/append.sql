-- Append to a session if its version is the expected one, and say where its head came by and how it stands, all in one.
SELECT done, ends, stands, began, stubs, fits,
    CASE WHEN done AND (cardinality(%(prefixes)s::bigint[]) > 0 OR cardinality(%(named)s::bigint[]) > 0 OR %(summary)b::bytea IS NOT NULL)
    THEN fanfold.track(%(tenant)b, %(session)b, %(prefixes)s::bigint[], %(summary)b, %(named)s::bigint[]) END
FROM fanfold.append(
    %(tenant)b, %(session)b, %(expected)s::bigint, %(token)b, %(changes)s::integer, %(records)b::bytea[],
    %(ids)b::bytea[], %(parents)b::bytea[], %(bodies)b::bytea[], %(again)b::bytea[], %(contents)b::bytea[],
    %(asked)s, %(begins)s::bigint, %(mark)b
)
