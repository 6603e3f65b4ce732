-- Put another content in the place of a message's.
UPDATE line SET message = ?1 WHERE key = (SELECT key FROM register WHERE tenant = ?2 AND id = ?3)
