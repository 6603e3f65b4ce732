-- The tables of a schema that fanfold did not make.
SELECT count(*) FROM pg_tables WHERE schemaname = 'fanfold'
