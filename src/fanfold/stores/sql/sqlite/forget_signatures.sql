-- Forget the signatures of a session's blocks.
DELETE FROM signature WHERE key BETWEEN ? AND ?
