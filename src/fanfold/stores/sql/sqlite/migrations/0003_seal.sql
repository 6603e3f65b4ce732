-- The mark by which the file's key is recognised. Files from before there were keys are not sealed.
CREATE TABLE seal (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    mark BLOB NOT NULL,
    -- Tells this store's blobs from those of others in the same bucket.
    store TEXT NOT NULL DEFAULT (lower(hex(randomblob(16))))
);
INSERT INTO seal (one, mark) SELECT 1, x'' WHERE EXISTS (SELECT 1 FROM tenant);
