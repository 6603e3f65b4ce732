-- Where a session can be opened without reading all that happened before.
CREATE TABLE checkpoint (
    session INTEGER PRIMARY KEY REFERENCES session (number),
    tenant INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL
);
