-- Where a session's log ends, and its records after one of them, at most so many, as they stand at one moment.
SELECT session.seq, session.version, record.seq, record.body
FROM (SELECT * FROM fanfold.session WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND sha256(name) = sha256(%(session)b)) AS session
LEFT JOIN fanfold.record
    ON record.tenant = session.tenant AND record.session = session.number AND record.seq > %(after)s
ORDER BY record.seq LIMIT %(most)s::bigint
