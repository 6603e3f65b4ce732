-- Forget the summaries of a session: they repeat labels that were erased.
UPDATE line SET figures = NULL WHERE key BETWEEN ? AND ? AND figures IS NOT NULL
