-- Let nobody keep a checkpoint of a session, and forget the one that there is.
WITH place AS (
    SELECT tenant, number FROM fanfold.session
    WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND sha256(name) = sha256(%(session)b)
    FOR UPDATE
)
DELETE FROM fanfold.checkpoint USING place WHERE checkpoint.tenant = place.tenant AND checkpoint.session = place.number
