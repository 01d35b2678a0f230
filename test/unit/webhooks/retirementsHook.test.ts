/**
 * The indexer's hook while the database is away, when nothing can be verified and any client can send.
 */
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createIdSource, systemClock } from '../../../src/lib/clock.ts';
import type { Logger } from '../../../src/lib/logger.ts';
import { createDeliverySpool, type DeliverySpool } from '../../../src/webhooks/deliverySpool.ts';
import { createRetirementsHook } from '../../../src/webhooks/retirementsHook.ts';

const HEADER = 'x-service-signature';
const FORGED = `sha256=${'0'.repeat(64)}`;

let folder: string;
let lines: string[];
const write = (_fields: object, message: string) => void lines.push(message);
const log = { info: write, warn: write, error: write } as unknown as Logger;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'spool-'));
  lines = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function hookWithoutDatabase(spool: DeliverySpool) {
  const select = () => {
    throw new Error('the database is away');
  };
  const deps = { db: { select }, log } as unknown as Parameters<typeof createRetirementsHook>[0];
  const hook = createRetirementsHook(deps, { signatureHeaders: [HEADER], spool });
  return (headers: Record<string, string>) =>
    hook({ body: Buffer.from('{}'), headers, requestId: 'r', remoteAddress: '192.0.2.1' });
}

const spoolHere = () =>
  createDeliverySpool({ folder, ids: createIdSource(systemClock), log, replayIntervalMs: 50 });

describe('without the database', () => {
  it('keeps what may be signed, and refuses what can never be verified', async () => {
    const deliver = hookWithoutDatabase(spoolHere());
    expect(await deliver({})).toBe('unverified');
    expect(await deliver({ [HEADER]: 'sha256=00' })).toBe('unverified');
    expect(await readdir(folder)).toEqual([]);
    expect(await deliver({ [HEADER]: FORGED })).toBeNull();
    expect(await readdir(folder)).toHaveLength(1);
  });

  it('logs a flood of deliveries in a line a second', async () => {
    const deliver = hookWithoutDatabase(spoolHere());
    for (let i = 0; i < 50; i++) await deliver({ [HEADER]: FORGED });
    expect(lines.length).toBeLessThan(10);
  });

  it('counts as refused what the spool has no room for', async () => {
    const full: DeliverySpool = { keep: async () => false, start() {}, async stop() {} };
    expect(await hookWithoutDatabase(full)({ [HEADER]: FORGED })).toBe('spool-full');
  });
});

describe('a folder that nothing can be written to', () => {
  /** As one on a full disk, where a file is begun and not completed. */
  const full = (spool: DeliverySpool, name: string) => mkdir(join(folder, name)).then(() => spool);

  it('is left as it was, and the delivery is counted as refused', async () => {
    const ids = { next: () => 'same' };
    const spool = await full(createDeliverySpool({ folder, ids, log }), 'same.json');
    expect(await hookWithoutDatabase(spool)({ [HEADER]: FORGED })).toMatch(/^spool-failed: /);
    expect(await readdir(folder)).toEqual(['same.json']);
  });
});

it('counts what a killed process has begun to write, and removes it in time', async () => {
  const spool = spoolHere();
  const begun = (n: number) => join(folder, `${n}.json.part`);
  for (let n = 0; n < 1000; n++) await writeFile(begun(n), '');
  expect(await spool.keep({ rawBody: Buffer.from('{}'), signature: FORGED })).toBe(false);
  const before = new Date(Date.now() - 2 * 3_600_000);
  for (let n = 1; n < 1000; n++) await utimes(begun(n), before, before);
  spool.start(async () => undefined);
  await vi.waitFor(async () => expect(await readdir(folder)).toEqual(['0.json.part']), { timeout: 20_000 });
  await spool.stop();
});

it('stops between two deliveries, however many are kept', async () => {
  const spool = spoolHere();
  for (let i = 0; i < 3; i++) await spool.keep({ rawBody: Buffer.from('{}'), signature: FORGED });
  let stopping: Promise<void> | undefined;
  spool.start(async () => {
    stopping ??= spool.stop();
  });
  await vi.waitFor(() => expect(stopping).toBeDefined(), { timeout: 20_000 });
  await stopping;
  expect(await readdir(folder)).toHaveLength(2);
});
