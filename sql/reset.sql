-- Before each writing test: the table as it was seeded. Every statement runs by itself (VACUUM and CHECKPOINT must).
DELETE FROM clienti WHERE id > 100000;

ALTER TABLE clienti ALTER COLUMN id RESTART WITH 100001;

VACUUM ANALYZE clienti;

CHECKPOINT;
