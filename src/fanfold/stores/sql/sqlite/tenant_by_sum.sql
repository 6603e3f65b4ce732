-- Whether there is a tenant whose name had this hash.
SELECT number FROM tenant WHERE name_sum = ?
