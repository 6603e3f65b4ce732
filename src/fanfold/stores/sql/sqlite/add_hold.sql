-- Hold a blob.
INSERT INTO hold (tenant, holder, blob, since) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET since = excluded.since
