-- Keep the hash of a tenant's name.
UPDATE tenant SET name_sum = ? WHERE number = ?
