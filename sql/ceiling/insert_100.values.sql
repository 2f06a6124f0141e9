-- What insert_100.sql sends: each column becomes a variable of that name.
SELECT array_agg(ragione_sociale ORDER BY id)::text AS names,
       array_agg(citta ORDER BY id)::text AS cities,
       array_agg(email ORDER BY id)::text AS emails,
       array_agg(saldo ORDER BY id)::text AS balances,
       array_agg(creato ORDER BY id)::text AS dates
FROM clienti
WHERE id BETWEEN 1 AND 100;
