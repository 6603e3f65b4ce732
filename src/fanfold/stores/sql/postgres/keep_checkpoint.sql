-- Keep a checkpoint in the place of the one before, unless somebody wrote meanwhile.
INSERT INTO fanfold.checkpoint (tenant, session, seq, body)
SELECT tenant, number, seq, %(body)b::bytea FROM fanfold.session WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND sha256(name) = sha256(%(session)b) AND seq = %(seq)s
FOR SHARE
ON CONFLICT (tenant, session) DO UPDATE SET seq = excluded.seq, body = excluded.body
