-- Whether there is a session whose name had this hash.
SELECT number FROM session WHERE name_sum = ?
