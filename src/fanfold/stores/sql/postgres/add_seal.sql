-- Leave a mark, if there is none.
INSERT INTO fanfold.seal (mark) VALUES (%(mark)b) ON CONFLICT DO NOTHING
