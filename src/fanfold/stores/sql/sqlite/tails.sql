-- The sessions that wait for the register, from which line on, and the last line of each.
SELECT session, key, (SELECT max(line.key) FROM line WHERE line.key BETWEEN waiting.key AND (session << 32) + 4294967295)
FROM waiting WHERE typeof(key) = 'integer'
