-- Keep a line in another form.
UPDATE line SET record = ?, message = ? WHERE key = ?
