-- Say where a session came by.
SELECT fanfold.track(%(tenant)b, %(session)b, %(prefixes)s::bigint[], NULL)
