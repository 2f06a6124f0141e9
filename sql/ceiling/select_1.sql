-- For pgbench (restbench ceiling): the statement of the test select_1, prepared, with its id as a parameter.
\set id 42
SELECT id, ragione_sociale, citta, email, saldo, creato FROM clienti WHERE id = :id;
