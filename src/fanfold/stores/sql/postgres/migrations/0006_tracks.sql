-- Which sessions came by each prefix, and where each session stands.
CREATE TABLE fanfold.track (
    tenant integer NOT NULL,
    prefix bigint NOT NULL,
    session bigint NOT NULL,
    PRIMARY KEY (tenant, prefix, session)
);
ALTER TABLE fanfold.session ADD head bigint;
CREATE FUNCTION fanfold.track(tenant_name bytea, session_name bytea, prefixes bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    place fanfold.session;
BEGIN
    UPDATE fanfold.session AS s SET head = prefixes[cardinality(prefixes)]
    WHERE s.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(tenant_name))
        AND sha256(s.name) = sha256(session_name)
    RETURNING s.* INTO place;
    INSERT INTO fanfold.track (tenant, prefix, session)
    SELECT DISTINCT place.tenant, p, place.number FROM unnest(prefixes) AS p ORDER BY p
    ON CONFLICT DO NOTHING;
END $$;
