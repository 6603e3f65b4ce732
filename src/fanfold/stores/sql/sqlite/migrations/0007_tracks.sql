-- Where a line moves the session's head to, as the number of a prefix.
ALTER TABLE line ADD COLUMN prefix INTEGER;
-- Which sessions came by each prefix. Like the register, it is filled for many lines at once.
CREATE TABLE track (
    tenant INTEGER NOT NULL,
    prefix INTEGER NOT NULL,
    session INTEGER NOT NULL,
    PRIMARY KEY (tenant, prefix, session)
) WITHOUT ROWID;
