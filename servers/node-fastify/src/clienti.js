// The table, through node-postgres.
import pg from 'pg'

const PAGE_SIZE = 50n
const MAX_INT8 = 2n ** 63n - 1n

const COLUMNS = 'id, ragione_sociale, citta, email, saldo, creato'
const SELECT_ONE = `SELECT ${COLUMNS} FROM clienti WHERE id = $1`
const SELECT_PAGE = `SELECT ${COLUMNS} FROM clienti ORDER BY id LIMIT ${PAGE_SIZE} OFFSET $1`
const INSERT_BATCH = `INSERT INTO clienti (ragione_sociale, citta, email, saldo, creato)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::numeric[], $5::timestamp[])`

// node-postgres hands out int8 and numeric as strings and shifts a timestamp
// by the time zone of the process.
pg.types.setTypeParser(pg.types.builtins.INT8, BigInt)
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number)
pg.types.setTypeParser(pg.types.builtins.TIMESTAMP, (text) => text.replace(' ', 'T'))

export class Clienti {
  #pool

  constructor({ databaseUrl, poolSize, log }) {
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize })
    // Without a listener the loss of an idle connection ends the process.
    this.#pool.on('error', (error) => log.error(error))
  }

  async find(id) {
    const { rows } = await this.#pool.query(SELECT_ONE, [id])
    return rows[0]
  }

  async page(number) {
    const page = BigInt(number)
    let offset = (page - 1n) * PAGE_SIZE
    // A page that is no int8 is left to PostgreSQL, which refuses it.
    if (page <= MAX_INT8 && offset > MAX_INT8) offset = MAX_INT8
    const { rows } = await this.#pool.query(SELECT_PAGE, [offset])
    return rows
  }

  // One statement is one transaction.
  async insert(batch) {
    const column = (name) => batch.map((row) => row[name])
    const { rowCount } = await this.#pool.query(INSERT_BATCH, [
      column('ragione_sociale'),
      column('citta'),
      column('email'),
      column('saldo'),
      column('creato')
    ])
    return rowCount
  }

  async close() {
    await this.#pool.end()
  }
}

// SQLSTATE classes 22 and 23: the data, and not the database, is at fault.
export function isRefusedData(error) {
  return error instanceof pg.DatabaseError && /^2[23]/.test(error.code)
}
