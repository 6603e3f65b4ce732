-- Keep the hash of a session's name.
UPDATE session SET name_sum = ? WHERE number = ?
