-- How the tables were made.
SELECT name, sql FROM sqlite_master WHERE type = 'table'
