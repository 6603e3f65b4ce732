-- From which line on a session's messages wait for the register.
SELECT key FROM waiting WHERE session = ?
