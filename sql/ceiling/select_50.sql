-- For pgbench (restbench ceiling): the statement of the test select_50, page 3.
\set skipped 100
SELECT id, ragione_sociale, citta, email, saldo, creato FROM clienti ORDER BY id LIMIT 50 OFFSET :skipped;
