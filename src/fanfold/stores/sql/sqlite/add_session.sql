-- Take in a session, if it is new; under a number that nobody's lines have, not even those of a session that was lost.
INSERT INTO session (number, tenant, name, name_sum)
SELECT max(coalesce((SELECT max(number) FROM session), 0), coalesce((SELECT max(key) >> 32 FROM line), 0)) + 1, ?, ?, ?
WHERE true ON CONFLICT DO NOTHING
