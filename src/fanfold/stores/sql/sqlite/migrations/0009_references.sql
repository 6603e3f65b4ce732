-- Which message a line moves the session's head to, as a number.
ALTER TABLE line ADD COLUMN refer INTEGER;
-- Which sessions name a message or a blob. Like the register, it is filled for many lines at once.
CREATE TABLE reference (
    tenant INTEGER NOT NULL,
    number INTEGER NOT NULL,
    session INTEGER NOT NULL,
    PRIMARY KEY (tenant, number, session)
) WITHOUT ROWID;
-- An older release that has the file open must not write lines without a reference: its statement fails now.
ALTER TABLE line RENAME COLUMN summary TO figures;
-- How far the rewriting of the tables is: how often it was begun and done, and the table and row where it stands.
CREATE TABLE rewriting (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    begun INTEGER NOT NULL,
    done INTEGER NOT NULL,
    copying INTEGER NOT NULL,
    at_table INTEGER NOT NULL,
    after_row INTEGER NOT NULL
);
INSERT INTO rewriting (one, begun, done, copying, at_table, after_row) VALUES (1, 0, 0, 0, 0, 0);
-- By what a search passes over blocks of lines: bits for what may be found there. The key is the session's times 2^32 plus
-- the number of the block.
CREATE TABLE signature (
    key INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    bits BLOB NOT NULL
);
