-- Before each writing test: the table as it was seeded. Every statement runs by itself (VACUUM and CHECKPOINT must).
DELETE FROM clienti WHERE id > 100000;

-- The next id is 100001 again. ALTER TABLE ... RESTART would do it too, but waits for everybody who reads the table.
SELECT setval(pg_get_serial_sequence('clienti', 'id'), 100001, false);

-- Also the few dead rows that VACUUM would leave for later (below 2 % of the pages): the same table each time.
VACUUM (ANALYZE, INDEX_CLEANUP ON) clienti;

CHECKPOINT;
