-- Keep a checkpoint in the place of the one before.
INSERT OR REPLACE INTO checkpoint (tenant, session, seq, body) VALUES (?, ?, ?, ?)
