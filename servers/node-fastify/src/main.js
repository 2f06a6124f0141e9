// The test server of restbench's contract in Node: Fastify and node-postgres,
// in one process or in a cluster of PROCESSES.
import cluster from 'node:cluster'

import { buildApp } from './app.js'

const SHUTDOWN_TIMEOUT_MS = 5000

const processes = Number(process.env.PROCESSES || 1)
const poolSize = Number(process.env.DB_POOL || 16)

if (cluster.isPrimary && processes > 1) {
  runPrimary()
} else {
  await runServer()
}

function runPrimary() {
  let stopping = false
  const listening = new Set()

  for (let i = 0; i < processes; i++) cluster.fork()
  cluster.on('listening', (worker) => listening.add(worker.id))
  cluster.on('exit', (worker) => {
    if (stopping) return
    // One that never listened would not do so the next time either.
    if (!listening.delete(worker.id)) process.exit(1)
    cluster.fork()
  })

  onStop(() => {
    stopping = true
    for (const worker of Object.values(cluster.workers)) worker.kill('SIGTERM')
  })
}

async function runServer() {
  const app = buildApp({
    databaseUrl: process.env.DATABASE_URL,
    poolSize: Math.max(1, Math.floor(poolSize / processes)),
    jwtSecret: process.env.JWT_SECRET
  })
  onStop(() => {
    setTimeout(() => process.exit(0), SHUTDOWN_TIMEOUT_MS).unref()
    app.close().then(() => process.exit(0), fail)
  })
  try {
    await app.listen({
      host: process.env.HOST || '127.0.0.1',
      port: Number(process.env.PORT || 8080)
    })
  } catch (error) {
    fail(error)
  }
}

function onStop(stop) {
  // A terminal sends its signal to the workers too.
  let stopped = false
  const once = () => {
    if (!stopped) stop()
    stopped = true
  }
  process.on('SIGTERM', once)
  process.on('SIGINT', once)
}

function fail(error) {
  console.error(error)
  process.exit(1)
}
