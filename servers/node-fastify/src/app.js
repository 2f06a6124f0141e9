// The endpoints, and the token that they may require.
import fastifyJwt from '@fastify/jwt'
import Fastify, { LogController } from 'fastify'

import { Clienti, isRefusedData } from './clienti.js'
import { batchSchema, clienteSchema, idSchema, insertedSchema, pageSchema, pingSchema } from './schemas.js'

export function buildApp({ databaseUrl, poolSize, jwtSecret }) {
  const app = Fastify({
    logger: { level: 'error' },
    logController: new LogController({ disableRequestLogging: true }),
    // Fastify would turn 7 into "7" and "12.5" into 12.5.
    ajv: { customOptions: { coerceTypes: false } }
  })

  const clienti = new Clienti({ databaseUrl, poolSize, log: app.log })
  app.addHook('onClose', () => clienti.close())
  app.setErrorHandler(onError)
  if (jwtSecret) requireToken(app, jwtSecret)
  app.register(async (routes) => addRoutes(routes, clienti))
  return app
}

function addRoutes(app, clienti) {
  app.get('/ping', { schema: pingSchema }, async () => ({ ok: true }))

  app.get('/clienti/:id', { schema: { params: idSchema, response: { 200: clienteSchema } } }, async (request, reply) => {
    const row = await clienti.find(request.params.id)
    return row ?? reply.code(404).send({ error: 'no such row' })
  })

  app.get(
    '/clienti',
    { schema: { querystring: pageSchema, response: { 200: { type: 'array', items: clienteSchema } } } },
    async (request) => clienti.page(request.query.pagina ?? '1')
  )

  app.post(
    '/clienti/batch',
    { schema: { body: batchSchema, response: { 200: insertedSchema } } },
    async (request) => ({ inserted: await clienti.insert(request.body) })
  )
}

function requireToken(app, secret) {
  app.register(fastifyJwt, {
    secret,
    verify: { algorithms: ['HS256'], requiredClaims: ['exp'], extractToken }
  })
  app.addHook('onRequest', async (request, reply) => {
    try {
      await request.jwtVerify()
    } catch {
      // The plugin answers 400 to some; all are refusals.
      return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'a valid token is required' })
    }
  })
}

// A signature of HS256 has 43 letters; of the last one two bits are unused and
// must be zero, but Node's base64 decoder takes any.
const BEARER = /^Bearer ([\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048])$/i

function extractToken(request) {
  return BEARER.exec(request.headers.authorization ?? '')?.[1]
}

function onError(error, request, reply) {
  if (isRefusedData(error)) return reply.code(400).send({ error: error.message })
  if (error.statusCode < 500) return reply.code(error.statusCode).send({ error: error.message })
  request.log.error(error)
  return reply.code(500).send({ error: 'the server failed' })
}
