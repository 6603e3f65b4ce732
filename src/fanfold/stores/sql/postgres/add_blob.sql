-- Take in a blob, if it is new.
INSERT INTO fanfold.blob (tenant, id, size, outside)
VALUES (fanfold.owner(%(tenant)b), %(id)b, %(size)s, %(outside)s) ON CONFLICT DO NOTHING RETURNING size
