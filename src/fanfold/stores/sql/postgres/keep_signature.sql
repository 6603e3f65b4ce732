-- Keep the signature of a block in the place of the one before, unless somebody wrote meanwhile.
INSERT INTO fanfold.signature (tenant, session, block, upto, bits)
SELECT tenant, number, %(block)s, %(upto)s, %(bits)b::bytea FROM fanfold.session
WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND sha256(name) = sha256(%(session)b) AND seq = %(ends)s
FOR UPDATE
ON CONFLICT (tenant, session, block) DO UPDATE SET upto = excluded.upto, bits = excluded.bits
