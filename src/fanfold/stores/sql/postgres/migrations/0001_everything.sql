-- Everything belongs to a tenant. Any text can be a name, so names are bytes, and found by their hash.
CREATE SCHEMA IF NOT EXISTS fanfold;
CREATE TABLE fanfold.migration (
    number integer PRIMARY KEY,
    applied timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE fanfold.seal (
    one integer PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    mark bytea NOT NULL,
    -- Tells this store's blobs from those of others in the same bucket.
    store uuid NOT NULL DEFAULT gen_random_uuid()
);
CREATE TABLE fanfold.tenant (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name bytea NOT NULL
);
CREATE UNIQUE INDEX tenant_by_name ON fanfold.tenant (sha256(name));
-- Where a session's log ends. Room is left on every page, so that counting on touches no index.
CREATE TABLE fanfold.session (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant integer NOT NULL REFERENCES fanfold.tenant,
    name bytea NOT NULL,
    seq bigint NOT NULL,
    version bigint NOT NULL,
    token bytea
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX session_by_name ON fanfold.session (tenant, sha256(name));
CREATE TABLE fanfold.record (
    tenant integer NOT NULL,
    session bigint NOT NULL,
    seq bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (tenant, session, seq)
);
CREATE TABLE fanfold.entry (
    tenant integer NOT NULL,
    id bytea NOT NULL,
    parent bytea,
    erased boolean NOT NULL DEFAULT false,
    body bytea NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE TABLE fanfold.checkpoint (
    tenant integer NOT NULL,
    session bigint NOT NULL,
    seq bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (tenant, session)
);
CREATE TABLE fanfold.blob (
    number bigint GENERATED ALWAYS AS IDENTITY,
    tenant integer NOT NULL REFERENCES fanfold.tenant,
    id bytea NOT NULL,
    size bigint NOT NULL,
    outside boolean NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE TABLE fanfold.piece (
    tenant integer NOT NULL,
    blob bytea NOT NULL,
    number integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, blob, number),
    FOREIGN KEY (tenant, blob) REFERENCES fanfold.blob ON DELETE CASCADE
);
-- Uncompressed, so that some bytes of a piece are read without the rest.
ALTER TABLE fanfold.piece ALTER data SET STORAGE EXTERNAL;
-- Statistics are samples of what is stored: an erasure would not reach them.
ALTER TABLE fanfold.record ALTER body SET STATISTICS 0;
ALTER TABLE fanfold.entry ALTER body SET STATISTICS 0;
ALTER TABLE fanfold.checkpoint ALTER body SET STATISTICS 0;
ALTER TABLE fanfold.piece ALTER data SET STATISTICS 0;
