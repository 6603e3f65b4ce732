-- Hold no blob any more.
DELETE FROM hold WHERE tenant = ? AND holder = ?
