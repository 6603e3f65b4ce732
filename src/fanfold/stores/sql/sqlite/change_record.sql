-- Put another record in the place of one.
UPDATE line SET record = ? WHERE tenant = ? AND key = ?
