-- The sessions that came by the first prefix of a list that any session came by; those that stand there come first.
WITH first AS (
    SELECT asked.value AS prefix FROM json_each(:prefixes) AS asked
    WHERE EXISTS (SELECT 1 FROM track WHERE track.tenant = :tenant AND track.prefix = asked.value)
    ORDER BY asked.key LIMIT 1
)
SELECT first.prefix, session.name, first.prefix IS (
    SELECT line.prefix FROM line
    WHERE line.key > session.number << 32 AND line.key < (session.number + 1) << 32 AND line.prefix IS NOT NULL
    ORDER BY line.key DESC LIMIT 1
) AS stands, (
    SELECT line.figures FROM line
    WHERE line.key > session.number << 32 AND line.key < (session.number + 1) << 32 AND line.figures IS NOT NULL
    ORDER BY line.key DESC LIMIT 1
)
FROM first JOIN track ON track.tenant = :tenant AND track.prefix = first.prefix
JOIN session ON session.number = track.session
ORDER BY stands DESC, session.number DESC LIMIT :most
