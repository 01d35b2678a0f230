/**
 * A paused server process, as in a frozen container. The requests of the pause wait in its sockets, and the
 * process reads them before its timers run and before it receives notifications.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { freePort } from '../../src/db/embedded/freePort.ts';
import type { Role } from '../../src/identity/roles.ts';
import { signToken } from '../../src/identity/tokens.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts';
import { pathOf } from '../support/run/programs.ts';

/** Longer than the server trusts its list of revoked tokens without reading the table. */
const PAUSE_MS = 9_000;
const SECRET = 'a bearer secret for tests of more than 32 bytes';
const QUERY = '{ viewer { subject } }';

let database: TestDatabase;
let folder: string;
let server: ChildProcess;
let port: number;
let output = '';

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'paused-'));
  port = await freePort();
  server = spawn(process.execPath, [pathOf('src/main.ts')], {
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: database.url,
      DATA_DIR: folder,
      PORT: String(port),
      AUTH_SECRETS: SECRET,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A session of its own, because in a session with a stopped process the system hangs up all processes
    // when the parent of one ends.
    detached: true,
  });
  for (const stream of [server.stdout, server.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  // Waits longer than for /readyz, because a start that is paused in its last statements fails.
  while (!output.includes('Next: open')) {
    if (server.exitCode !== null) throw new Error(output);
    await delay(100);
  }
});
afterAll(async () => {
  const ended = once(server, 'close');
  server.kill('SIGCONT');
  server.kill('SIGTERM');
  await ended;
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const bearerOf = (jti: string, role: Role = 'buyer') =>
  signToken({
    secret: SECRET,
    issuer: 'asset-token-marketplace',
    audience: 'asset-token-marketplace',
    subject: 'acme',
    roles: [role],
    expiresInSeconds: 3600,
    now: systemClock.now,
    jti,
  });

async function ask(bearer: string, query = QUERY): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
    body: JSON.stringify({ query }),
  });
  return response.text();
}

async function openSocket(bearer: string) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws');
  const received: string[] = [];
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${bearer}` } }));
  await once(socket, 'message');
  socket.on('message', (data) => received.push((data as Buffer).toString()));
  const ended = once(socket, 'close').then(([code]) => code as number);
  const send = (query: string) =>
    socket.send(JSON.stringify({ id: randomUUID(), type: 'subscribe', payload: { query } }));
  return { socket, received, ended, send };
}

async function newApiKey(): Promise<string> {
  const expiresAt = Math.floor(Date.now() / 1000) + 3600;
  const input = `{ name: "a service", subject: "acme", roles: [BUYER], expiresAt: ${expiresAt}, idempotencyKey: "${randomUUID()}" }`;
  const answer = await ask(
    await bearerOf(randomUUID(), 'admin'),
    `mutation { createApiKey(input: ${input}) { key } }`,
  );
  return /"key":"([^"]+)"/.exec(answer)?.[1] ?? answer;
}

/** Revokes as another instance, whose notification the paused process has not read. */
const revoke = (jti: string) => database.handle
  .sql`INSERT INTO token_revocations (id, jti, revoked_by, revoked_at, ends_at)
    VALUES (gen_random_uuid(), ${jti}, 'another instance', now(), now() + interval '1 hour')`;

it('answers nothing to a token that was revoked while it was paused', async () => {
  const jti = randomUUID();
  const [revoked, good] = [await bearerOf(jti), await bearerOf(randomUUID())];
  expect(await ask(revoked), output).toContain('acme');
  const own = await openSocket(revoked);
  server.kill('SIGSTOP');
  await revoke(jti);
  const answers = Promise.all([ask(revoked), ask(revoked), ask(good)]);
  own.send(QUERY);
  await delay(PAUSE_MS);
  server.kill('SIGCONT');
  const [first, second, ofGood] = await answers;
  expect([first, second]).toEqual([
    expect.stringContaining('was revoked'),
    expect.stringContaining('was revoked'),
  ]);
  expect(ofGood).toContain('acme');
  expect(await own.ended).toBe(4403);
  expect(own.received).toEqual([]);
});

it('answers nothing to an API key that was revoked while it was paused', async () => {
  const [revoked, good] = [await newApiKey(), await newApiKey()];
  const [own, other] = [await openSocket(revoked), await openSocket(good)];
  expect(await ask(revoked), output).toContain('acme');
  server.kill('SIGSTOP');
  const id = revoked.slice('atm_'.length, 'atm_'.length + 32);
  await database.handle
    .sql`UPDATE api_keys SET revoked_at = now(), revoked_by = 'another instance' WHERE id = ${id}::uuid`;
  const answer = ask(revoked);
  own.send(QUERY);
  other.send(QUERY);
  await delay(PAUSE_MS);
  server.kill('SIGCONT');
  expect(await answer).toContain('was revoked');
  expect(await own.ended).toBe(4403);
  expect(own.received).toEqual([]);
  await expect.poll(() => other.received.join()).toContain('acme');
  other.socket.close();
});
