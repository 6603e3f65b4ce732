-- The records of a session with their numbers.
SELECT record.seq, record.body FROM fanfold.record JOIN fanfold.session ON session.number = record.session
WHERE record.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND session.tenant = record.tenant AND sha256(session.name) = sha256(%(session)b)
ORDER BY record.seq
