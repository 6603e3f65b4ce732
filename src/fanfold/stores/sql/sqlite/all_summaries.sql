-- Every summary, to be kept in another form.
SELECT key, summary FROM line WHERE summary IS NOT NULL
