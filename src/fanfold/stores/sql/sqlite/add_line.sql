-- Append a line to a session.
INSERT INTO line (key, tenant, version, record, id, parent, entry) VALUES (?, ?, ?, ?, ?, ?, ?)
