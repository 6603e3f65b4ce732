-- The checkpoint of a session, the line it was made at, and where the session's log ends.
SELECT seq, body, coalesce((SELECT max(key) FROM line WHERE key BETWEEN :first AND :last), :first) - :first
FROM checkpoint WHERE tenant = :tenant AND session = :session
