-- Where each message lies, by its id.
-- An index on the lines cost as much for each append as the line itself; this is filled for many lines at once.
CREATE TABLE register (
    tenant INTEGER NOT NULL,
    id BLOB NOT NULL,
    key INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
INSERT INTO register (tenant, id, key) SELECT tenant, id, key FROM line WHERE id IS NOT NULL ORDER BY tenant, id;
DROP INDEX line_by_entry;
-- Sessions that are being written to: the lines after this key may hold messages that are not in the register yet.
CREATE TABLE waiting (
    session INTEGER PRIMARY KEY REFERENCES session (number),
    key INTEGER NOT NULL
);
-- An older release that has the file open must not write lines without a word about it: its statement fails now.
ALTER TABLE line RENAME COLUMN entry TO body;
