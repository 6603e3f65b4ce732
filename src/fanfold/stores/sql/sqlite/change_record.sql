-- Put another record in the place of one, or none.
UPDATE line SET record = ? WHERE tenant = ? AND key = ?
