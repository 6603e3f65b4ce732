-- Leave a mark, if there is none.
INSERT INTO seal (one, mark) VALUES (1, ?) ON CONFLICT DO NOTHING
