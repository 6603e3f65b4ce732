-- Keep a checkpoint in the place of the one before, and how the session stands, unless somebody wrote meanwhile.
WITH place AS (
    UPDATE fanfold.session SET summary = coalesce(%(summary)b::bytea, summary)
    WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND sha256(name) = sha256(%(session)b) AND seq = %(seq)s
    RETURNING tenant, number, seq
)
INSERT INTO fanfold.checkpoint (tenant, session, seq, body) SELECT tenant, number, seq, %(body)b::bytea FROM place
ON CONFLICT (tenant, session) DO UPDATE SET seq = excluded.seq, body = excluded.body
