-- Blobs that somebody put and is about to record: nobody drops them meanwhile.
CREATE TABLE hold (
    tenant INTEGER NOT NULL,
    holder BLOB NOT NULL,
    blob BLOB NOT NULL,
    since REAL NOT NULL,
    PRIMARY KEY (tenant, holder, blob)
) WITHOUT ROWID;
