-- Each session in a few figures, for lists of sessions.
ALTER TABLE fanfold.session ADD summary bytea;
ALTER TABLE fanfold.session ALTER summary SET STATISTICS 0;
DROP FUNCTION fanfold.track;
CREATE FUNCTION fanfold.track(tenant_name bytea, session_name bytea, prefixes bigint[], told bytea)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    place fanfold.session;
BEGIN
    UPDATE fanfold.session AS s
    SET head = coalesce(prefixes[cardinality(prefixes)], s.head), summary = coalesce(told, s.summary)
    WHERE s.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(tenant_name))
        AND sha256(s.name) = sha256(session_name)
    RETURNING s.* INTO place;
    INSERT INTO fanfold.track (tenant, prefix, session)
    SELECT DISTINCT place.tenant, p, place.number FROM unnest(prefixes) AS p ORDER BY p
    ON CONFLICT DO NOTHING;
END $$;
