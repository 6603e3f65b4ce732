-- The session in a few figures after this line, on some lines: a list of sessions reads the last one of each.
ALTER TABLE line ADD COLUMN summary BLOB;
