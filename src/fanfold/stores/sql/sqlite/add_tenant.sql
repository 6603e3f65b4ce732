-- Take in a tenant, if it is new.
INSERT INTO tenant (name, name_sum) VALUES (?, ?) ON CONFLICT DO NOTHING
