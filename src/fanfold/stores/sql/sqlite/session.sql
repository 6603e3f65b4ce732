-- The number of a tenant's session with this name and the hash of its name; and of one whose name had this hash.
SELECT number, name_sum, true FROM session WHERE tenant = ?1 AND name = ?2
UNION ALL SELECT number, name_sum, false FROM session WHERE name_sum = ?3
