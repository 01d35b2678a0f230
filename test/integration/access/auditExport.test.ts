/**
 * Old entries of the audit log move to a file; the remaining entries still prove that the log is complete.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, open, readFile, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Db } from '../../../src/db/connection.ts';
import { exportAuditLog } from '../../../src/identity/exportAuditLog.ts';
import { createTransparencyLogs } from '../../../src/transparency/logs.ts';
import { TRANSPARENCY_CONTRADICTIONS } from '../../../src/reconciliation/contradictions/transparency.ts';
import { HISTORY_CONTRADICTIONS } from '../../../src/reconciliation/contradictions/history.ts';
import {
  changePastRules,
  createTestDatabase,
  openAsApplication,
  type TestDatabase,
} from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';

const DAY_MS = 86_400_000;
const before = new Date(Date.now() - 60 * DAY_MS);
const [old, young] = [-10, 10].map((days) => new Date(before.getTime() + days * DAY_MS));
let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'audit-'));
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function write(
  writerId: string,
  startedAt: Date | undefined,
  outcome: string | null,
  kind = 'MUTATION',
): Promise<void> {
  const row = {
    id: randomUUID(),
    kind,
    started_at: startedAt,
    request_id: 'test',
    caller_roles: [],
    remote_address: '192.0.2.1',
    field: 'retire',
    outcome,
    ended_at: outcome === null ? null : startedAt,
    target_ids: [],
  };
  await database.handle.db.execute(
    sql`SELECT insert_audit_entries(${writerId}, 'test', ${JSON.stringify([row])}::text::json)`,
  );
}

const logs = () =>
  createTransparencyLogs({
    db: database.handle.db,
    seed: new Uint8Array(32),
    origin: { first: 'tests.example/logs' },
    networkId: 'tests',
  });

async function contradictions(): Promise<string[]> {
  const found = await Promise.all(
    [...HISTORY_CONTRADICTIONS, ...TRANSPARENCY_CONTRADICTIONS].map(({ query }) =>
      database.handle.sql.unsafe(query),
    ),
  );
  return found.flat().map(({ message }) => String(message));
}

const numbers = async (writerId: string) =>
  (
    await database.handle.sql`SELECT number::int FROM audit_entries WHERE writer_id = ${writerId} ORDER BY 1`
  ).map(({ number }) => Number(number));

it('exports the first entries of each process, those without an outcome and of reads too, then removes them, and can be proved afterwards', async () => {
  const { db, sql: ask } = database.handle;
  const [ended, killed] = [randomUUID(), randomUUID()];
  for (const startedAt of [old, old, young]) await write(ended, startedAt, 'OK');
  await write(killed, old, 'OK');
  await write(killed, old, null);
  await write(killed, old, 'OK');
  const reading = randomUUID();
  for (const startedAt of [old, old, young]) await write(reading, startedAt, null, 'READ');

  const kept = join(folder, 'kept.jsonl');
  expect(await exportAuditLog({ db, before, path: kept, prune: false })).toBe(7);
  expect([await numbers(ended), await numbers(killed), await numbers(reading)]).toEqual([
    [1, 2, 3],
    [1, 2, 3],
    [1, 2, 3],
  ]);

  // The export needs their hashes in the transparency log.
  const early = { db, before, path: join(folder, 'early.jsonl'), prune: true };
  await expect(exportAuditLog(early)).rejects.toMatchObject({
    cause: { message: expect.stringContaining('are not in the transparency log yet') },
  });
  await logs().catchUp();

  const path = join(folder, 'audit.jsonl');
  expect(await exportAuditLog({ db, before, path, prune: true })).toBe(7);
  expect([await numbers(ended), await numbers(killed), await numbers(reading)]).toEqual([[3], [], [3]]);
  expect(await contradictions()).toEqual([]);

  const text = await readFile(path, 'utf8');
  const lines = text.split('\n').filter((line) => line.includes(ended));
  expect(lines.map((line) => (JSON.parse(line) as { number: number }).number)).toEqual([1, 2]);
  const [pruning] = await ask`SELECT * FROM audit_prunings WHERE writer_id = ${ended}`;
  expect(pruning).toMatchObject({ from_number: '1', to_number: '2' });
  const digest = createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest();
  expect(Buffer.from(pruning?.['sha256'] as Uint8Array)).toEqual(digest);

  // A second export finds nothing to do, and does not overwrite an existing file.
  expect(await exportAuditLog({ db, before, path: join(folder, 'none.jsonl'), prune: true })).toBe(0);
  await expect(exportAuditLog({ db, before, path, prune: true })).rejects.toThrow(
    `${path} exists. An earlier export with --prune may have removed`,
  );

  const nowhere = join(folder, 'missing', 'audit.jsonl');
  await expect(exportAuditLog({ db, before, path: nowhere, prune: true })).rejects.toMatchObject({
    name: 'StartupError',
    message: expect.stringContaining(`${nowhere} can't be made (ENOENT)`),
  });

  await expect(ask`DELETE FROM audit_entries WHERE writer_id = ${ended}`).rejects.toThrow(/append/);
  await expect(ask`UPDATE audit_writers SET pruned = 3 WHERE id = ${ended}`).rejects.toThrow(/only grow/);
  // The digest of the next removal does not cover lines that another export has removed meanwhile.
  const repeated = ask`SELECT prune_audit_entries(${ended}, 1, 3, 'digest')`;
  await expect(repeated).rejects.toThrow(/are removed up to \d+, by another export/);
  await expect(ask`DELETE FROM audit_prunings`).rejects.toThrow(/append/);
});

/** Writes entries without an outcome, which are in the transparency log, and the lines of an export of them. */
async function exported(count: number) {
  const { sql: ask } = database.handle;
  const writerId = randomUUID();
  for (let number = 1; number <= count; number++) await write(writerId, old, null);
  await logs().catchUp();
  const entries =
    await ask`SELECT id, audit_line(e) AS line FROM audit_entries e WHERE writer_id = ${writerId} ORDER BY number`;
  const digest = createHash('sha256')
    .update(entries.map(({ line }) => `${String(line)}\n`).join(''))
    .digest();
  const outcome = [{ id: entries[0]?.['id'] as string, outcome: 'OK', ended_at: young, target_ids: [] }];
  const prune = (by: Pick<Db, 'execute'> = database.handle.db) =>
    by.execute(sql`SELECT prune_audit_entries(${writerId}, 1, ${count}, ${digest})`);
  const end = (by: Pick<Db, 'execute'> = database.handle.db) =>
    by.execute(sql`SELECT end_audit_entries(${JSON.stringify(outcome)}::text::json)`);
  return { writerId, prune, end };
}

const refusal = (message: string) => ({
  cause: { message: expect.stringContaining(message) as string },
});

it('removes no entry whose outcome is added after its line was written', async () => {
  const { prune, end } = await exported(1);
  // A second time, as after a lost answer.
  for (let times = 1; times <= 2; times++) await end();
  await logs().catchUp();
  await expect(prune()).rejects.toMatchObject(refusal('are not the lines of this digest'));
});

it('waits for an outcome that is being added, and for another export', async () => {
  const ofLines = await exported(2);
  const ofBoth = await exported(2);
  for (const [first, then, message] of [
    [ofLines.end, ofLines.prune, 'are not the lines of this digest'],
    [ofBoth.prune, ofBoth.prune, 'are removed up to 2, by another export'],
  ] as const) {
    let refused: Promise<void> | undefined;
    await database.handle.db.transaction(async (tx) => {
      await first(tx);
      refused = expect(then()).rejects.toMatchObject(refusal(message));
      await expect.poll(() => hasLockWait(database.handle)).toBe(true);
    });
    await refused;
  }
  expect([await numbers(ofLines.writerId), await numbers(ofBoth.writerId)]).toEqual([[1, 2], []]);
});

it('writes the times of a line in UTC, whichever time zone the database has', async () => {
  const writerId = randomUUID();
  await write(writerId, old, 'OK');
  await logs().catchUp();
  const name = new URL(database.url).pathname.slice(1);
  await database.handle.sql.unsafe(`ALTER DATABASE ${name} SET timezone = 'Asia/Kolkata'`);
  const elsewhere = openAsApplication(database, 1);
  const path = join(folder, 'utc.jsonl');
  try {
    await exportAuditLog({ db: elsewhere.db, before, path, prune: true });
  } finally {
    await elsewhere.close();
    await database.handle.sql.unsafe(`ALTER DATABASE ${name} RESET timezone`);
  }
  const lines = (await readFile(path, 'utf8')).split('\n');
  const line: unknown = JSON.parse(lines.find((text) => text.includes(writerId)) ?? '{}');
  const time = old
    ?.toISOString()
    .replace(/(\.\d*?)0*Z$/, '$1+00:00')
    .replace('.+', '+');
  expect(line).toMatchObject({ started_at: time, ended_at: time });
});

it('puts the name of the file on the disk before anything is removed', async () => {
  const { db } = database.handle;
  await write(randomUUID(), old, 'OK');
  await logs().catchUp();
  const some = await open(folder);
  const handles = Object.getPrototypeOf(some) as FileHandle;
  await some.close();
  const synced: string[] = [];
  const { sync } = handles;
  vi.spyOn(handles, 'sync').mockImplementation(async function (this: FileHandle) {
    synced.push((await this.stat()).isDirectory() ? 'folder' : 'file');
    return sync.call(this);
  });
  try {
    const asked = { db, before, path: join(folder, 'synced.jsonl'), prune: true };
    expect(await exportAuditLog(asked)).toBeGreaterThan(0);
  } finally {
    vi.restoreAllMocks();
  }
  expect(synced.slice(0, 2)).toEqual(['folder', 'file']);
});

it('says after a failure which entries are in the file alone', async () => {
  const { db } = database.handle;
  const [first, second] = [randomUUID(), randomUUID()].sort();
  for (let number = 1; number <= 2; number++) await write(String(first), old, 'OK');
  await logs().catchUp();
  await write(String(second), old, 'OK');
  const path = join(folder, 'stopped.jsonl');
  const only = (entries: string, file: string) =>
    `${entries} entries are removed from the database and are in ${file} alone: keep this file`;
  const stopped = exportAuditLog({ db, before, path, prune: true });
  await expect(stopped).rejects.toThrow(only('2', path));
  await expect(stopped).rejects.toThrow('are not in the transparency log yet');
  expect([await numbers(String(first)), await numbers(String(second))]).toEqual([[], [1]]);

  await logs().catchUp();
  const execute = db.execute.bind(db);
  vi.spyOn(db, 'execute').mockImplementation((query) =>
    JSON.stringify(query).includes('prune_audit_entries')
      ? (execute(query).then(() => Promise.reject(new Error('the answer is lost'))) as never)
      : execute(query),
  );
  const unanswered = join(folder, 'unanswered.jsonl');
  try {
    const lost = exportAuditLog({ db, before, path: unanswered, prune: true });
    await expect(lost).rejects.toThrow(only('at least 0 and at most 1', unanswered));
  } finally {
    vi.restoreAllMocks();
  }
  expect(await numbers(String(second))).toEqual([]);
});

it('removes nothing where entries are missing, and says which', async () => {
  const { db, sql: ask } = database.handle;
  const writerId = randomUUID();
  for (let number = 1; number <= 6; number++) await write(writerId, old, 'OK');
  await logs().catchUp();
  await changePastRules(
    database,
    sql`DELETE FROM audit_entries WHERE writer_id = ${writerId} AND number IN (2, 4, 5)`,
  );
  const exported = exportAuditLog({ db, before, path: join(folder, 'gap.jsonl'), prune: true });
  await expect(exported).rejects.toThrow(`of process ${writerId}, number 2, 4 to 5.`);
  const pruned = ask`SELECT prune_audit_entries(${writerId}, 1, 6, sha256('lines'))`;
  await expect(pruned).rejects.toThrow(/from 1 to 6, only 3 are there/);
  expect(await numbers(writerId)).toEqual([1, 3, 6]);
});

it('is all that the application’s role can remove, and nothing of the last 30 days', async () => {
  const { sql: ask } = database.handle;
  const application = openAsApplication(database, 1);
  const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);
  const [writerId, other] = [randomUUID(), randomUUID()];
  for (const days of [31, 29]) await write(writerId, daysAgo(days), 'OK');
  await write(other, daysAgo(31), 'OK');
  await logs().catchUp();
  const pruneTo = async (number: number) => {
    const [lines] =
      await ask`SELECT sha256(convert_to(string_agg(audit_line(e) || E'\n', '' ORDER BY number), 'UTF8')) AS digest
      FROM audit_entries e WHERE writer_id = ${writerId} AND number <= ${number}`;
    return application.sql`SELECT prune_audit_entries(${writerId}, 1, ${number}, ${lines?.['digest'] as Uint8Array})`;
  };
  try {
    await expect(pruneTo(2)).rejects.toThrow(/younger than 30 days/);
    expect(await numbers(writerId)).toEqual([1, 2]);
    await pruneTo(1);
    expect(await numbers(writerId)).toEqual([2]);
    for (const forged of [
      `INSERT INTO audit_prunings VALUES ('${other}', 1, 1, sha256(''), now())`,
      `DELETE FROM audit_entries WHERE writer_id = '${other}'`,
      `TRUNCATE audit_entries`,
    ]) {
      await expect(application.sql.unsafe(forged), forged).rejects.toMatchObject({ code: '42501' });
    }
    const unpruned = application.sql`UPDATE audit_writers SET pruned = 1 WHERE id = ${other}`;
    await expect(unpruned).rejects.toThrow(/only grow/);
  } finally {
    await application.close();
  }
});
