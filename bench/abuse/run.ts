/**
 * `npm run bench -- abuse`: each attack runs for some seconds, in a separate process, against a server with
 * its default limits, while an innocent client at another address sends requests. Prints attack, memory,
 * processor, the client's latencies, and the server's processor time while the client waited.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openEmbeddedPostgres } from '../../src/db/embedded/embeddedPostgres.ts';
import { cpuMsOf, mainThreadMsOf, residentMbOf, startServer, type ServerProcess } from '../processes.ts';
import { BUILT_SERVER, createSecrets, productEnvironment } from '../product.ts';
import { median } from '../row.ts';
import { ATTACKS } from './attacks.ts';

/** Pause between two requests, which keeps the innocent client from being a load. */
const ASK_EVERY_MS = 10;
const SAMPLE_MS = 100;
/** The request fails when the server does not answer within this time. */
const PATIENCE_MS = 10_000;
/** Time for the attacker to start, and for the budgets to refill after an attack. */
const BEGIN_MS = 1_000;
const REST_MS = 3_000;

interface AbuseRow extends Watched {
  attack: string;
}

interface Watched {
  memoryMb: number;
  cpuPercent: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Processor time of the server's main thread while a request waited, without other load. */
  computingP50Ms: number;
  computingP99Ms: number;
  failed: number;
}

export async function runAbuse({
  seconds,
  say,
}: {
  seconds: number;
  say: (text: string) => void;
}): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-abuse-'));
  say('making a PostgreSQL database');
  const cluster = await openEmbeddedPostgres({ dataDir: folder, password: randomBytes(16).toString('hex') });
  try {
    const server = await startServer({
      program: BUILT_SERVER,
      env: defaultLimitsOf(
        productEnvironment({
          secrets: createSecrets(randomBytes),
          databaseUrl: cluster.ownerUrl,
          database: 'abuse',
          folder,
        }),
      ),
      logFile: join(folder, 'product.log'),
    });
    try {
      // Warms up: the server's code is compiled during the first requests.
      await watch(server, seconds);
      const rows: AbuseRow[] = [];
      const idleP99sMs: number[] = [];
      for (const [at, { name }] of ATTACKS.entries()) {
        say(`attack: ${name}`);
        // The idle measurements alternate with the attacks, so that other work of the machine affects both
        // alike.
        const idle = await watch(server, seconds);
        const attacked = await measure(server, at, seconds);
        idleP99sMs.push(idle.p99Ms);
        rows.push({ attack: name, ...attacked });
        await delay(REST_MS);
      }
      // The median of the idle windows: a p99 is a few requests that the machine delayed, and varies by more
      // than most attacks do.
      process.stdout.write(tableOf(rows, median(idleP99sMs)));
    } finally {
      await server.stop();
    }
  } finally {
    await cluster.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Removes the settings that raise the limits, because the abuse run measures the limits. */
function defaultLimitsOf(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(RATE_LIMIT|MAX)_/.test(name)));
}

async function measure(server: ServerProcess, attack: number, seconds: number): Promise<Watched> {
  const attacker = spawn(
    process.execPath,
    ['--import', 'tsx', 'bench/abuse/attacker.ts', String(attack), `${server.url}/graphql`],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => attacker.once('exit', resolve));
  try {
    await delay(BEGIN_MS);
    return await watch(server, seconds);
  } finally {
    attacker.kill('SIGTERM');
    await ended;
  }
}

async function watch(server: ServerProcess, seconds: number): Promise<Watched> {
  const latencies: number[] = [];
  const computing: number[] = [];
  let failed = 0;
  let memoryMb = 0;
  const cpuBefore = await cpuMsOf(server);
  const startedMs = performance.now();
  const sampler = setInterval(() => {
    void residentMbOf(server).then((mb) => (memoryMb = Math.max(memoryMb, mb)));
  }, SAMPLE_MS);
  const agent = new Agent({ keepAlive: true, localAddress: '127.0.0.2' });
  while (performance.now() - startedMs < seconds * 1000) {
    const askedMs = performance.now();
    const computedMs = await mainThreadMsOf(server);
    const isAnswered = await ask(server.url, agent);
    if (isAnswered) latencies.push(performance.now() - askedMs);
    else failed += 1;
    computing.push((await mainThreadMsOf(server)) - computedMs);
    await delay(ASK_EVERY_MS);
  }
  clearInterval(sampler);
  agent.destroy();
  const cpuPercent = ((await cpuMsOf(server)) - cpuBefore) / ((performance.now() - startedMs) / 100);
  return {
    memoryMb,
    cpuPercent,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    maxMs: quantile(latencies, 1),
    computingP50Ms: quantile(computing, 0.5),
    computingP99Ms: quantile(computing, 0.99),
    failed,
  };
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? NaN;
}

function ask(url: string, agent: Agent): Promise<boolean> {
  const body = JSON.stringify({ query: '{ projects(first: 5) { nodes { id } } }' });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve) => {
    const asked = request(
      `${url}/graphql`,
      { method: 'POST', agent, headers, timeout: PATIENCE_MS },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode === 200));
      },
    );
    asked.once('timeout', () => asked.destroy());
    asked.once('error', () => resolve(false));
    asked.end(body);
  });
}

function tableOf(rows: readonly AbuseRow[], idleP99Ms: number): string {
  const head =
    '| Attack | Memory | CPU | p50 | p99 | p99 ÷ idle | max | computing p50 | computing p99 | failed |\n' +
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n';
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  const line = (row: AbuseRow) =>
    `| ${row.attack} | ${row.memoryMb.toFixed(0)} MB | ${row.cpuPercent.toFixed(0)} % | ${ms(row.p50Ms)} | ${ms(row.p99Ms)} | ` +
    `${(row.p99Ms / idleP99Ms).toFixed(1)} | ${ms(row.maxMs)} | ${ms(row.computingP50Ms)} | ${ms(row.computingP99Ms)} | ` +
    `${row.failed} |\n`;
  return head + rows.map(line).join('');
}
