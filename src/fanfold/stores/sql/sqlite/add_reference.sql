-- Enter that a session names a message or a blob.
INSERT INTO reference (tenant, number, session) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
