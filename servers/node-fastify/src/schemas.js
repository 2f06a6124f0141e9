// What a request must be (validated by Ajv) and what an answer is (written by
// fast-json-stringify).

const positiveInteger = { type: 'string', pattern: '^0*[1-9][0-9]*$' }

export const idSchema = { type: 'object', required: ['id'], properties: { id: positiveInteger } }

export const pageSchema = { type: 'object', properties: { pagina: positiveInteger } }

export const pingSchema = {
  response: { 200: { type: 'object', properties: { ok: { type: 'boolean' } } } }
}

export const insertedSchema = { type: 'object', properties: { inserted: { type: 'integer' } } }

export const clienteSchema = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    ragione_sociale: { type: 'string' },
    citta: { type: 'string' },
    email: { type: 'string', nullable: true },
    saldo: { type: 'number' },
    creato: { type: 'string' }
  }
}

// PostgreSQL knows which days a month has; but it would take the hour 24, the
// second 60 and a time zone.
const timestamp = {
  type: 'string',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d+)?$'
}

export const batchSchema = {
  type: 'array',
  items: {
    type: 'object',
    required: ['ragione_sociale', 'citta', 'email', 'saldo', 'creato'],
    properties: {
      ragione_sociale: { type: 'string' },
      citta: { type: 'string' },
      email: { type: 'string', nullable: true },
      saldo: { type: 'number' },
      creato: timestamp
    }
  }
}
