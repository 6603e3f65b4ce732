-- Keep a checkpoint in another form.
UPDATE checkpoint SET body = ? WHERE session = ?
