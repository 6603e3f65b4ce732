-- Leave a mark, if there is none.
INSERT INTO fanfold.seal (mark, format) VALUES (%(mark)b, 3) ON CONFLICT DO NOTHING
