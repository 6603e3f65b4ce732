-- Put another content in the place of a message's. A stub that was imported may have stood at another place.
UPDATE line SET message = ?1, parent = ?4 WHERE key = (SELECT key FROM register WHERE tenant = ?2 AND id = ?3)
