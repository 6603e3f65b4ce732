-- One message of a tenant in its place.
SELECT id, parent, entry FROM line WHERE tenant = ? AND id = ?
