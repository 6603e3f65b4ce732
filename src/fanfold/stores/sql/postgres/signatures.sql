-- The signatures of some sessions' blocks, from one up to another.
SELECT session.name, signature.block, signature.upto, signature.bits
FROM fanfold.session JOIN fanfold.signature ON signature.tenant = session.tenant AND signature.session = session.number
WHERE session.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b))
    AND sha256(session.name) = ANY (SELECT sha256(asked) FROM unnest(%(names)b::bytea[]) AS asked)
    AND signature.block >= %(first)s AND signature.block < %(last)s
