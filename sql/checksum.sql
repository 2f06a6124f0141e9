-- Are these the rows of seed.sql? `checksum` is over every value of the seeded rows, written the same way under any
-- setting; `expected` is what seed.sql makes on every machine.
SELECT count(*) AS rows,
       encode(sha256(convert_to(coalesce(string_agg(
           concat_ws('|', id, ragione_sociale, citta, coalesce(email, '-'), saldo,
                     to_char(creato, 'YYYY-MM-DD"T"HH24:MI:SS.US')), E'\n' ORDER BY id), ''), 'UTF8')), 'hex') AS checksum,
       '912c99ffce6ce3ea1427605c09b255e07ea2aa6aa0897fde59cdac3a8192a860' AS expected
FROM clienti
WHERE id <= 100000;
