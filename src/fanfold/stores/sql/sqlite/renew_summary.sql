-- Keep a summary in another form.
UPDATE line SET figures = ? WHERE key = ?
