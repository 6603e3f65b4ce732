-- The sessions that came by the first prefix of a list that any session came by; those that stand there come first.
WITH owner AS (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)),
first AS (
    SELECT asked.prefix FROM unnest(%(prefixes)s::bigint[]) WITH ORDINALITY AS asked (prefix, n)
    WHERE EXISTS (
        SELECT FROM fanfold.track WHERE track.tenant = (SELECT number FROM owner) AND track.prefix = asked.prefix
    )
    ORDER BY n LIMIT 1
)
SELECT first.prefix, session.name, session.head IS NOT DISTINCT FROM first.prefix AS stands, session.summary
FROM first JOIN fanfold.track ON track.tenant = (SELECT number FROM owner) AND track.prefix = first.prefix
JOIN fanfold.session ON session.number = track.session
ORDER BY stands DESC, session.number DESC LIMIT %(most)s
