-- For the doctor: the names of all sessions as the index has them, not the table.
SELECT number, name FROM session INDEXED BY sqlite_autoindex_session_1 WHERE tenant IS NOT NULL
