-- The checkpoint of a session, and the record it was made at.
SELECT seq, body FROM fanfold.checkpoint WHERE (tenant, session) =
    (SELECT tenant, number FROM fanfold.session WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND sha256(name) = sha256(%(session)b))
