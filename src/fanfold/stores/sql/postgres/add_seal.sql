-- Leave a mark, if there is none.
INSERT INTO fanfold.seal (mark, format) VALUES (%(mark)b, 4) ON CONFLICT DO NOTHING
