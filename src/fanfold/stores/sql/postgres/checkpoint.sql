-- The checkpoint of a session, the record it was made at, and where the session's log ends.
SELECT checkpoint.seq, checkpoint.body, session.seq FROM fanfold.checkpoint JOIN fanfold.session
    ON session.tenant = checkpoint.tenant AND session.number = checkpoint.session
WHERE session.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND sha256(session.name) = sha256(%(session)b)
