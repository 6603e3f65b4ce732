-- Take in a session, if it is new.
INSERT INTO session (tenant, name) VALUES (?, ?) ON CONFLICT DO NOTHING
