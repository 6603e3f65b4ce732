-- The sessions of a tenant that name any of some messages or blobs.
SELECT session.name FROM fanfold.session
WHERE session.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND session.number IN
    (SELECT reference.session FROM fanfold.reference
     WHERE reference.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND reference.number = ANY(%(numbers)s::bigint[]))
ORDER BY session.number
