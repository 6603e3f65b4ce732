-- Forget the checkpoint of a session.
DELETE FROM checkpoint WHERE session = ?
