-- Whatever can be sent has a checksum, or a seal, of itself and of its place. All has it where the format is 2.
ALTER TABLE fanfold.seal ADD format integer NOT NULL DEFAULT 1;
-- By what a range of a blob is read and checked; where it is not known yet, all of the blob is compared with its id.
ALTER TABLE fanfold.blob ADD proof bytea;

-- Records are sealed for their numbers, so an append says where it takes the log to end. And it says by its mark with
-- which key it sealed: somebody may have changed that.
DROP FUNCTION fanfold.append;
CREATE FUNCTION fanfold.append(
    tenant_name bytea, session_name bytea, expected bigint, given bytea, changes integer, records bytea[],
    ids bytea[], parents bytea[], bodies bytea[], again bytea[], contents bytea[], asked boolean, begins bigint,
    sealed bytea,
    OUT done boolean, OUT ends bigint, OUT stands bigint, OUT began bigint, OUT stubs bytea[], OUT fits boolean
) LANGUAGE plpgsql AS $$
DECLARE
    owner integer;
    many integer := cardinality(records);
    place fanfold.session;
BEGIN
    done := false;
    SELECT number INTO owner FROM fanfold.tenant WHERE sha256(name) = sha256(tenant_name);
    IF NOT FOUND THEN
        owner := fanfold.owner(tenant_name);
    END IF;
    -- An erasure waits for all appends of the tenant, and they wait for it; so does a change of the key.
    PERFORM pg_advisory_xact_lock_shared(1717661286, owner);
    fits := EXISTS (SELECT FROM fanfold.seal WHERE mark = sealed);
    IF NOT fits THEN
        RETURN;
    END IF;
    IF cardinality(ids) > 0 THEN
        stubs := ARRAY(SELECT id FROM fanfold.entry WHERE tenant = owner AND id = ANY (ids) AND erased);
        IF cardinality(stubs) > 0 THEN
            RETURN;
        END IF;
    END IF;
    LOOP
        UPDATE fanfold.session AS s SET seq = s.seq + many, version = s.version + changes, token = given
        WHERE s.tenant = owner AND sha256(s.name) = sha256(session_name) AND s.seq = begins
            AND (expected IS NULL OR s.version = expected) AND s.token IS DISTINCT FROM given
            AND NOT (asked AND fanfold.wrote(s.tenant, s.number, given))
        RETURNING s.* INTO place;
        EXIT WHEN FOUND;
        IF coalesce(expected, 0) = 0 AND begins = 0 THEN
            INSERT INTO fanfold.session AS s (tenant, name, seq, version, token)
            VALUES (owner, session_name, many, changes, given) ON CONFLICT DO NOTHING RETURNING s.* INTO place;
            EXIT WHEN FOUND;
        END IF;
        SELECT * INTO place FROM fanfold.session AS s
        WHERE s.tenant = owner AND sha256(s.name) = sha256(session_name);
        ends := coalesce(place.seq, 0);
        stands := coalesce(place.version, 0);
        began := ends - many;
        -- The same append once more, because its answer was lost on the way: it is done.
        done := coalesce(place.token = given OR (asked AND fanfold.wrote(owner, place.number, given)), false);
        IF done OR stands <> expected OR ends <> begins THEN
            RETURN;
        END IF;
    END LOOP;
    INSERT INTO fanfold.record (tenant, session, seq, body, token)
    SELECT owner, place.number, place.seq - many + r.n, r.body, given
    FROM unnest(records) WITH ORDINALITY AS r (body, n);
    -- Always in the order of their ids, so that no two who write the same wait for each other.
    INSERT INTO fanfold.entry (tenant, id, parent, body)
    SELECT owner, e.id, nullif(e.parent, ''), e.body FROM unnest(ids, parents, bodies) AS e (id, parent, body)
    ORDER BY e.id
    ON CONFLICT DO NOTHING;
    IF cardinality(again) > 0 THEN
        UPDATE fanfold.entry AS e SET body = r.body, erased = false
        FROM unnest(again, contents) AS r (id, body) WHERE e.tenant = owner AND e.id = r.id;
    END IF;
    done := true;
    ends := place.seq;
    stands := place.version;
    began := place.seq - many;
END $$;
