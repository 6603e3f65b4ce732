-- Write the table of sessions anew: their summaries repeat labels. It is small, so nobody waits for long.
VACUUM (FULL) fanfold.session
