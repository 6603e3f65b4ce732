-- Say where a session came by, and what it names.
SELECT fanfold.track(%(tenant)b, %(session)b, %(prefixes)s::bigint[], NULL, %(named)s::bigint[])
