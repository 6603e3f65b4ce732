-- Which sessions name a message or a blob.
CREATE TABLE fanfold.reference (
    tenant integer NOT NULL,
    number bigint NOT NULL,
    session bigint NOT NULL,
    PRIMARY KEY (tenant, number, session)
);
-- It has a word more than before, so that a release which knows nothing of references cannot append.
DROP FUNCTION fanfold.track;
CREATE FUNCTION fanfold.track(tenant_name bytea, session_name bytea, prefixes bigint[], told bytea, named bigint[])
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
    INSERT INTO fanfold.reference (tenant, number, session)
    SELECT DISTINCT place.tenant, n, place.number FROM unnest(named) AS n ORDER BY n
    ON CONFLICT DO NOTHING;
END $$;

-- While a table is written anew, its copy gets what others write meanwhile. The arguments are the columns of its key.
CREATE FUNCTION fanfold.mirror() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    copied text := format('%I.%I', TG_TABLE_SCHEMA, TG_TABLE_NAME || '_next');
BEGIN
    IF TG_OP <> 'INSERT' THEN
        EXECUTE 'DELETE FROM ' || copied || ' AS c WHERE ' || (
            SELECT string_agg(format('c.%1$I = ($1).%1$I', key), ' AND ') FROM unnest(TG_ARGV) AS key
        ) USING OLD;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        EXECUTE 'INSERT INTO ' || copied || ' SELECT ($1).*' USING NEW;
    END IF;
    RETURN NULL;
END $$;

-- By what a search passes over blocks of records: bits for what may be found there.
CREATE TABLE fanfold.signature (
    tenant integer NOT NULL,
    session bigint NOT NULL,
    block bigint NOT NULL,
    upto bigint NOT NULL,
    bits bytea NOT NULL,
    PRIMARY KEY (tenant, session, block)
);
ALTER TABLE fanfold.signature ALTER bits SET STATISTICS 0;
