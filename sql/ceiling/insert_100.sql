-- For pgbench (restbench ceiling): the statement of the test insert_100, one transaction. The five arrays are columns
-- of insert_100.values.sql.
INSERT INTO clienti (ragione_sociale, citta, email, saldo, creato)
SELECT * FROM unnest(:names::text[], :cities::text[], :emails::text[], :balances::numeric[], :dates::timestamp[]);
