-- Delete a blob.
DELETE FROM blob WHERE tenant = ? AND id = ?
