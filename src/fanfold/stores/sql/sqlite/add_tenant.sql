-- Take in a tenant, if it is new.
INSERT INTO tenant (name) VALUES (?) ON CONFLICT DO NOTHING
