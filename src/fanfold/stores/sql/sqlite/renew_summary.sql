-- Keep a summary in another form.
UPDATE line SET summary = ? WHERE key = ?
