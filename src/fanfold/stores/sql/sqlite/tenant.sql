-- The number of the tenant with this name and the hash of its name; and of one whose name had this hash.
SELECT number, name_sum, true FROM tenant WHERE name = ?1
UNION ALL SELECT number, name_sum, false FROM tenant WHERE name_sum = ?2
