-- The copy takes the table's place, with the rights that others have to it. It has a file of its own, the old one goes.
SET LOCAL lock_timeout = '{patience}';
LOCK TABLE fanfold.{table} IN ACCESS EXCLUSIVE MODE;
DO $$
DECLARE
    given record;
BEGIN
    FOR given IN SELECT grantee, privilege_type AS right_to FROM information_schema.role_table_grants
        WHERE table_schema = 'fanfold' AND table_name = '{table}' AND grantee <> current_user
    LOOP
        EXECUTE format('GRANT %s ON fanfold.{table}_next TO %s', given.right_to,
            CASE given.grantee WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(given.grantee) END);
    END LOOP;
    IF '{table}' = 'piece' THEN
        ALTER TABLE fanfold.piece_next ADD FOREIGN KEY (tenant, blob) REFERENCES fanfold.blob ON DELETE CASCADE NOT VALID;
    END IF;
END $$;
DROP TABLE fanfold.{table};
ALTER TABLE fanfold.{table}_next RENAME TO {table};
ALTER INDEX fanfold.{table}_next_pkey RENAME TO {table}_pkey
