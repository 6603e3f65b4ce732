-- Some bytes of a blob.
SELECT substr(data, ?, ?) FROM blob WHERE tenant = ? AND id = ?
