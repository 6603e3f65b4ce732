-- The number of the last migration that was applied.
SELECT coalesce(max(number), 0) FROM fanfold.migration
