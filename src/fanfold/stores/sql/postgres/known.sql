-- Whether the schema was ever made. Asked of the catalogue itself: what a name stands for may be remembered from before.
SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'fanfold' AND tablename = 'migration')
