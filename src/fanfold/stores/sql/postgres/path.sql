-- The messages from one towards the first, up to but without another.
WITH RECURSIVE up (depth, id, parent, body) AS (
    SELECT 0, id, parent, body FROM fanfold.entry
    WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND id = %(tip)b AND id IS DISTINCT FROM %(stop)b::bytea
    UNION ALL
    SELECT up.depth + 1, entry.id, entry.parent, entry.body FROM up JOIN fanfold.entry ON entry.id = up.parent
    WHERE entry.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND up.parent IS DISTINCT FROM %(stop)b::bytea
)
SELECT id, parent, body FROM up ORDER BY depth
