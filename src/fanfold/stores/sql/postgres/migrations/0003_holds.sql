-- Blobs that somebody put and is about to record: nobody drops them meanwhile.
CREATE TABLE fanfold.hold (
    tenant integer NOT NULL,
    holder bytea NOT NULL,
    blob bytea NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, holder, blob)
);
