-- Let nobody keep a checkpoint or a signature of a session, and forget those that there are.
WITH place AS (
    SELECT tenant, number FROM fanfold.session
    WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND sha256(name) = sha256(%(session)b)
    FOR UPDATE
), forgotten AS (
    DELETE FROM fanfold.signature USING place WHERE signature.tenant = place.tenant AND signature.session = place.number
)
DELETE FROM fanfold.checkpoint USING place WHERE checkpoint.tenant = place.tenant AND checkpoint.session = place.number
