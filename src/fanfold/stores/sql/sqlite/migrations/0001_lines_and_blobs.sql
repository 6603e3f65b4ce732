-- Everything belongs to a tenant. A line is a record of a session, a message new to the tenant, or both.
CREATE TABLE tenant (
    number INTEGER PRIMARY KEY,
    name BLOB NOT NULL UNIQUE
);
CREATE TABLE session (
    number INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenant (number),
    name BLOB NOT NULL,
    UNIQUE (tenant, name)
);
-- The key is the session's number times 2^32 plus the line's number in it: a second writer of the same line fails.
-- Record and message share a line because every page that a transaction touches costs as much again.
CREATE TABLE line (
    key INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    version INTEGER NOT NULL,
    record BLOB,
    id BLOB,
    parent BLOB,
    entry BLOB
);
CREATE UNIQUE INDEX line_by_entry ON line (tenant, id) WHERE id IS NOT NULL;
-- A blob without data lies in a file beside the database.
CREATE TABLE blob (
    number INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenant (number),
    id BLOB NOT NULL,
    size INTEGER NOT NULL,
    data BLOB,
    UNIQUE (tenant, id)
);
