-- Append to a session if its version is the expected one, all in one.
SELECT done, ends, stands, began, stubs, fits FROM fanfold.append(
    %(tenant)b, %(session)b, %(expected)s::bigint, %(token)b, %(changes)s::integer, %(records)b::bytea[],
    %(ids)b::bytea[], %(parents)b::bytea[], %(bodies)b::bytea[], %(again)b::bytea[], %(contents)b::bytea[],
    %(asked)s, %(begins)s::bigint, %(mark)b
)
