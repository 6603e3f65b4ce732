-- Take in a piece of a blob.
INSERT INTO fanfold.piece (tenant, blob, number, data) VALUES ((SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)), %(id)b, %(number)s, %(data)b)
