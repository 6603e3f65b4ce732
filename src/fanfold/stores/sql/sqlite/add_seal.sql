-- Leave a mark, if there is none.
INSERT INTO seal (one, mark, format) VALUES (1, :mark, 4) ON CONFLICT DO NOTHING
