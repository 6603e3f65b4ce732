-- The checkpoint of a session, and the line it was made at.
SELECT seq, body FROM checkpoint WHERE tenant = ? AND session = ?
