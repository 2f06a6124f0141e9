-- 100,000 rows, the same on every machine: everything follows from the id by multiplicative hashing in integers
-- (Knuth's 2654435761, modulo 2^32); no random(), no clock, nothing that a locale or a time zone changes.
-- About one row in twenty has no email.
INSERT INTO clienti (id, ragione_sociale, citta, email, saldo, creato)
SELECT id,
       family || ' ' || trade || ' ' || form,
       city,
       CASE WHEN h5 % 20 = 0 THEN NULL
            ELSE mailbox || '@' || lower((family || '-' || trade) COLLATE "C") || '-' || id || '.it' END,
       ((h4 % 26000000) - 1000000)::numeric / 100,
       TIMESTAMP '2015-01-01 00:00:00' + (h5 % 315360000) * INTERVAL '1 second'
FROM (
    SELECT id, h4, h5,
           (ARRAY['Rossi', 'Russo', 'Ferrari', 'Esposito', 'Bianchi', 'Romano', 'Colombo', 'Ricci', 'Marino', 'Greco',
                  'Bruno', 'Gallo', 'Conti', 'Mancini', 'Costa', 'Giordano', 'Rizzo', 'Lombardi', 'Moretti',
                  'Barbieri', 'Fontana', 'Santoro', 'Mariani', 'Rinaldi', 'Caruso', 'Ferrara', 'Galli', 'Martini',
                  'Leone', 'Longo', 'Gentile', 'Martinelli', 'Vitale', 'Lombardo', 'Serra', 'Coppola', 'Marchetti',
                  'Parisi', 'Villa', 'Conte', 'Ferraro', 'Ferri', 'Fabbri', 'Bianco', 'Marini', 'Grasso', 'Valentini',
                  'Messina', 'Sala', 'Gatti', 'Pellegrini', 'Palumbo', 'Sanna', 'Farina', 'Rizzi', 'Monti',
                  'Cattaneo'])[1 + h1 % 57] AS family,
           (ARRAY['Costruzioni', 'Impianti', 'Trasporti', 'Alimentari', 'Arredamenti', 'Meccanica', 'Elettronica',
                  'Tessuti', 'Vini', 'Ceramiche', 'Grafica', 'Informatica', 'Legnami', 'Marmi', 'Ricambi', 'Servizi',
                  'Sistemi', 'Viaggi', 'Abbigliamento', 'Calzature', 'Carpenteria', 'Edilizia', 'Ferramenta',
                  'Logistica', 'Molino', 'Officine', 'Pelletteria', 'Plastica', 'Serramenti', 'Utensili',
                  'Vivai'])[1 + h2 % 31] AS trade,
           (ARRAY['S.r.l.', 'S.p.A.', 'S.n.c.', 'S.a.s.', 'S.r.l.s.', 'e Figli S.r.l.', 'e C. S.n.c.'])[1 + h3 % 7] AS form,
           (ARRAY['Roma', 'Milano', 'Napoli', 'Torino', 'Palermo', 'Genova', 'Bologna', 'Firenze', 'Bari', 'Catania',
                  'Venezia', 'Verona', 'Messina', 'Padova', 'Trieste', 'Taranto', 'Brescia', 'Parma', 'Prato', 'Modena',
                  'Reggio Calabria', 'Reggio Emilia', 'Perugia', 'Livorno', 'Ravenna', 'Cagliari', 'Foggia', 'Rimini',
                  'Salerno', 'Ferrara', 'Sassari', 'Latina', 'Monza', 'Siracusa', 'Pescara', 'Bergamo', 'Forlì',
                  'Trento', 'Vicenza', 'Terni', 'Bolzano', 'Novara', 'Piacenza', 'Ancona', 'Andria', 'Arezzo', 'Udine',
                  'Cesena', 'L''Aquila', 'Lecce', 'Pesaro', 'Como', 'Cantù'])[1 + h4 % 53] AS city,
           (ARRAY['info', 'amministrazione', 'ordini', 'vendite', 'ufficio'])[1 + h3 / 7 % 5] AS mailbox
    FROM (
        -- The high half of a product decides the low half of the next one, so that neighbours do not look alike.
        SELECT id,
               (m # (m >> 15)) * 1540483477 % 4294967296 >> 8 AS h1,
               (m # (m >> 13)) * 1597334677 % 4294967296 >> 8 AS h2,
               (m # (m >> 11)) * 1812433253 % 4294967296 >> 8 AS h3,
               (m # (m >> 16)) * 1664525017 % 4294967296 >> 4 AS h4,
               (m # (m >> 14)) * 1103515245 % 4294967296 >> 3 AS h5
        FROM (SELECT id, id * 2654435761 % 4294967296 AS m FROM generate_series(1::bigint, 100000) AS id) AS products
    ) AS hashes
) AS words
ORDER BY id;

-- The ids were given: the next row that a server inserts must be 100001.
SELECT setval(pg_get_serial_sequence('clienti', 'id'), 100001, false);

VACUUM ANALYZE clienti;
