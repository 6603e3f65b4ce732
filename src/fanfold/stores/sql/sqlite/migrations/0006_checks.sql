-- Whatever can be sent has a checksum, or a seal, of itself and of its place. All has it where the format is 2.
ALTER TABLE seal ADD COLUMN format INTEGER NOT NULL DEFAULT 1;
-- By these a tenant and a session are found whose name is damaged.
ALTER TABLE tenant ADD COLUMN name_sum BLOB;
ALTER TABLE session ADD COLUMN name_sum BLOB;
CREATE INDEX tenant_by_sum ON tenant (name_sum);
CREATE INDEX session_by_sum ON session (name_sum);
-- By what a range of a blob is read and checked; where it is not known yet, all of the blob is compared with its id.
ALTER TABLE blob ADD COLUMN proof BLOB;
-- An older release that has the file open must not write lines without a checksum: its statement fails now.
ALTER TABLE line RENAME COLUMN body TO message;
