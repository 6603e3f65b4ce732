-- Keep the signature of a block in the place of the one before.
INSERT OR REPLACE INTO signature (key, tenant, upto, bits) VALUES (?, ?, ?, ?)
