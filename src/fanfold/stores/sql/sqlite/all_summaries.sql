-- Every summary, to be kept in another form.
SELECT key, figures FROM line WHERE figures IS NOT NULL
