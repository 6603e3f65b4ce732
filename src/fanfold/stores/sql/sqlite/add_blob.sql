-- Take in a blob, if it is new.
INSERT INTO blob (tenant, id, size, data, proof) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
