-- A schema as the third migration left it: two sessions that share a message, their checkpoints, and a blob.
SET LOCAL check_function_bodies = false;
CREATE SCHEMA fanfold;
CREATE FUNCTION fanfold.append(tenant_name bytea, session_name bytea, expected bigint, given bytea, changes integer, records bytea[], ids bytea[], parents bytea[], bodies bytea[], again bytea[], contents bytea[], OUT done boolean, OUT ends bigint, OUT stands bigint, OUT began bigint, OUT stubs bytea[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
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
    -- An erasure waits for all appends of the tenant, and they wait for it.
    PERFORM pg_advisory_xact_lock_shared(1717661286, owner);
    IF cardinality(ids) > 0 THEN
        stubs := ARRAY(SELECT id FROM fanfold.entry WHERE tenant = owner AND id = ANY (ids) AND erased);
        IF cardinality(stubs) > 0 THEN
            RETURN;
        END IF;
    END IF;
    LOOP
        UPDATE fanfold.session AS s SET seq = s.seq + many, version = s.version + changes, token = given
        WHERE s.tenant = owner AND sha256(s.name) = sha256(session_name)
            AND (expected IS NULL OR s.version = expected) AND s.token IS DISTINCT FROM given
        RETURNING s.* INTO place;
        EXIT WHEN FOUND;
        IF coalesce(expected, 0) = 0 THEN
            INSERT INTO fanfold.session AS s (tenant, name, seq, version, token)
            VALUES (owner, session_name, many, changes, given) ON CONFLICT DO NOTHING RETURNING s.* INTO place;
            EXIT WHEN FOUND;
        END IF;
        SELECT * INTO place FROM fanfold.session AS s
        WHERE s.tenant = owner AND sha256(s.name) = sha256(session_name);
        ends := place.seq;
        stands := coalesce(place.version, 0);
        began := place.seq - many;
        -- The same append once more, because its answer was lost on the way: it is done.
        done := coalesce(place.token = given, false);
        IF done OR stands <> expected THEN
            RETURN;
        END IF;
    END LOOP;
    INSERT INTO fanfold.record (tenant, session, seq, body)
    SELECT owner, place.number, place.seq - many + r.n, r.body FROM unnest(records) WITH ORDINALITY AS r (body, n);
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
CREATE FUNCTION fanfold.owner(called bytea) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    found_number integer;
BEGIN
    LOOP
        SELECT number INTO found_number FROM fanfold.tenant WHERE sha256(name) = sha256(called);
        IF found_number IS NOT NULL THEN
            RETURN found_number;
        END IF;
        INSERT INTO fanfold.tenant (name) VALUES (called) ON CONFLICT DO NOTHING;
    END LOOP;
END $$;
CREATE TABLE fanfold.blob (
    number bigint NOT NULL,
    tenant integer NOT NULL,
    id bytea NOT NULL,
    size bigint NOT NULL,
    outside boolean NOT NULL
);
ALTER TABLE fanfold.blob ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fanfold.blob_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE fanfold.checkpoint (
    tenant integer NOT NULL,
    session bigint NOT NULL,
    seq bigint NOT NULL,
    body bytea NOT NULL
);
ALTER TABLE ONLY fanfold.checkpoint ALTER COLUMN body SET STATISTICS 0;
CREATE TABLE fanfold.entry (
    tenant integer NOT NULL,
    id bytea NOT NULL,
    parent bytea,
    erased boolean DEFAULT false NOT NULL,
    body bytea NOT NULL
);
ALTER TABLE ONLY fanfold.entry ALTER COLUMN body SET STATISTICS 0;
CREATE TABLE fanfold.hold (
    tenant integer NOT NULL,
    holder bytea NOT NULL,
    blob bytea NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE fanfold.migration (
    number integer NOT NULL,
    applied timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE fanfold.piece (
    tenant integer NOT NULL,
    blob bytea NOT NULL,
    number integer NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY fanfold.piece ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE ONLY fanfold.piece ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE fanfold.record (
    tenant integer NOT NULL,
    session bigint NOT NULL,
    seq bigint NOT NULL,
    body bytea NOT NULL
);
ALTER TABLE ONLY fanfold.record ALTER COLUMN body SET STATISTICS 0;
CREATE TABLE fanfold.seal (
    one integer DEFAULT 1 NOT NULL,
    mark bytea NOT NULL,
    store uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT seal_one_check CHECK ((one = 1))
);
CREATE TABLE fanfold.session (
    number bigint NOT NULL,
    tenant integer NOT NULL,
    name bytea NOT NULL,
    seq bigint NOT NULL,
    version bigint NOT NULL,
    token bytea
)
WITH (fillfactor='50');
ALTER TABLE fanfold.session ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fanfold.session_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE fanfold.tenant (
    number integer NOT NULL,
    name bytea NOT NULL
);
ALTER TABLE fanfold.tenant ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fanfold.tenant_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO fanfold.blob OVERRIDING SYSTEM VALUE VALUES (1, 1, '\x32343666323430613861613363363330323131376662633233333436643137336166363034393564', 12, false);
INSERT INTO fanfold.checkpoint VALUES (1, 1, 2, '\x86a776657273696f6e02a468656164d9203635653861393136373631663233646332663838326534356663363030633430a5656469747300a8726571756573747300a56672616d6580a4726f77739282a26964d9206233303838633835616261333961636131656565613264303635306137383031a46b696e64a5656e74727982a26964d9203635653861393136373631663233646332663838326534356663363030633430a46b696e64a5656e747279');
INSERT INTO fanfold.checkpoint VALUES (1, 2, 2, '\x86a776657273696f6e02a468656164d9203339616463316433343935373431396230343331613531626439353935313463a5656469747300a8726571756573747300a56672616d6580a4726f77739282a26964d9206233303838633835616261333961636131656565613264303635306137383031a46b696e64a5656e74727982a26964d9203339616463316433343935373431396230343331613531626439353935313463a46b696e64a5656e747279');
INSERT INTO fanfold.entry VALUES (1, '\x6233303838633835616261333961636131656565613264303635306137383031', NULL, false, '\x96d920386639356235343163613663643131393666303865326131333763663564346500c082a4726f6c65a475736572a570617274739182a474797065a474657874a474657874a648656c6c6f2ec0c0');
INSERT INTO fanfold.entry VALUES (1, '\x3635653861393136373631663233646332663838326534356663363030633430', '\x6233303838633835616261333961636131656565613264303635306137383031', false, '\x96d920383039393537313464333531366462373431653936326639343566303563643901c0c0ab6f70656e61692e6368617482a4726f6c65a9617373697374616e74a7636f6e74656e74a348692e');
INSERT INTO fanfold.entry VALUES (1, '\x3339616463316433343935373431396230343331613531626439353935313463', '\x6233303838633835616261333961636131656565613264303635306137383031', false, '\x96d920353363363737306664366462623163653566363438653966323964656361653401c0c0ab6f70656e61692e6368617482a4726f6c65a9617373697374616e74a7636f6e74656e74a9476f6f64206461792e');
INSERT INTO fanfold.migration VALUES (1, '2026-11-16 05:26:13.782542+00');
INSERT INTO fanfold.migration VALUES (2, '2026-11-16 05:26:13.782542+00');
INSERT INTO fanfold.migration VALUES (3, '2026-11-16 05:26:13.782542+00');
INSERT INTO fanfold.piece VALUES (1, '\x32343666323430613861613363363330323131376662633233333436643137336166363034393564', 0, '\x6120736d616c6c20626c6f62');
INSERT INTO fanfold.record VALUES (1, 1, 1, '\x83a474797065a56d6f766564a468656164d9206233303838633835616261333961636131656565613264303635306137383031a474696d65cb41dabea4fd8d63b7');
INSERT INTO fanfold.record VALUES (1, 1, 2, '\x84a474797065a56d6f766564a468656164d9203635653861393136373631663233646332663838326534356663363030633430a3776173d9206233303838633835616261333961636131656565613264303635306137383031a474696d65cb41dabea4fd8e2f94');
INSERT INTO fanfold.record VALUES (1, 2, 1, '\x83a474797065a56d6f766564a468656164d9206233303838633835616261333961636131656565613264303635306137383031a474696d65cb41dabea4fda01a7e');
INSERT INTO fanfold.record VALUES (1, 2, 2, '\x84a474797065a56d6f766564a468656164d9203339616463316433343935373431396230343331613531626439353935313463a3776173d9206233303838633835616261333961636131656565613264303635306137383031a474696d65cb41dabea4fda038a8');
INSERT INTO fanfold.seal VALUES (1, '\x', '3de94320-b115-46b5-9d10-0031b3185be9');
INSERT INTO fanfold.session OVERRIDING SYSTEM VALUE VALUES (1, 1, '\x72756e', 2, 2, '\xe298e852c3d5c230');
INSERT INTO fanfold.session OVERRIDING SYSTEM VALUE VALUES (2, 1, '\x6f74686572', 2, 2, '\xd0ac6ab758eb0819');
INSERT INTO fanfold.tenant OVERRIDING SYSTEM VALUE VALUES (1, '\x64656661756c74');
SELECT pg_catalog.setval('fanfold.blob_number_seq', 1, true);
SELECT pg_catalog.setval('fanfold.session_number_seq', 2, true);
SELECT pg_catalog.setval('fanfold.tenant_number_seq', 1, true);
ALTER TABLE ONLY fanfold.blob
    ADD CONSTRAINT blob_pkey PRIMARY KEY (tenant, id);
ALTER TABLE ONLY fanfold.checkpoint
    ADD CONSTRAINT checkpoint_pkey PRIMARY KEY (tenant, session);
ALTER TABLE ONLY fanfold.entry
    ADD CONSTRAINT entry_pkey PRIMARY KEY (tenant, id);
ALTER TABLE ONLY fanfold.hold
    ADD CONSTRAINT hold_pkey PRIMARY KEY (tenant, holder, blob);
ALTER TABLE ONLY fanfold.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number);
ALTER TABLE ONLY fanfold.piece
    ADD CONSTRAINT piece_pkey PRIMARY KEY (tenant, blob, number);
ALTER TABLE ONLY fanfold.record
    ADD CONSTRAINT record_pkey PRIMARY KEY (tenant, session, seq);
ALTER TABLE ONLY fanfold.seal
    ADD CONSTRAINT seal_pkey PRIMARY KEY (one);
ALTER TABLE ONLY fanfold.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (number);
ALTER TABLE ONLY fanfold.tenant
    ADD CONSTRAINT tenant_pkey PRIMARY KEY (number);
CREATE UNIQUE INDEX session_by_name ON fanfold.session USING btree (tenant, sha256(name));
CREATE UNIQUE INDEX tenant_by_name ON fanfold.tenant USING btree (sha256(name));
ALTER TABLE ONLY fanfold.blob
    ADD CONSTRAINT blob_tenant_fkey FOREIGN KEY (tenant) REFERENCES fanfold.tenant(number);
ALTER TABLE ONLY fanfold.piece
    ADD CONSTRAINT piece_tenant_blob_fkey FOREIGN KEY (tenant, blob) REFERENCES fanfold.blob(tenant, id) ON DELETE CASCADE;
ALTER TABLE ONLY fanfold.session
    ADD CONSTRAINT session_tenant_fkey FOREIGN KEY (tenant) REFERENCES fanfold.tenant(number);
