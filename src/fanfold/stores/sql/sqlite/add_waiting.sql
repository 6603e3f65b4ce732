-- From this line on, a session's messages wait for the register.
INSERT INTO waiting (session, key) VALUES (?, ?) ON CONFLICT DO NOTHING
