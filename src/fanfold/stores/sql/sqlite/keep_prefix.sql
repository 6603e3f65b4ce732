-- Say where a line moves its session's head to.
UPDATE line SET prefix = ? WHERE key = ?
