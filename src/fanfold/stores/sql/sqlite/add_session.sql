-- Take in a session, if it is new.
INSERT INTO session (tenant, name, name_sum) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
