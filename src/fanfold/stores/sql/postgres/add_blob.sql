-- Take in a blob, if it is new.
INSERT INTO fanfold.blob (tenant, id, size, outside, proof)
VALUES (fanfold.owner(%(tenant)b), %(id)b, %(size)s, %(outside)s, %(proof)b) ON CONFLICT DO NOTHING RETURNING size
