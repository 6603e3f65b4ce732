-- Put another content in the place of a message's.
UPDATE line SET entry = ? WHERE tenant = ? AND id = ?
