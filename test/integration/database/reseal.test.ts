/**
 * Stored secrets are sealed anew under another key: killed midway, resumed, run twice at once, and with
 * secrets that do not open.
 */
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import postgres from 'postgres';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { resealAll } from '../../../src/db/reseal.ts';
import { sealedPlace } from '../../../src/db/sealedColumns.ts';
import { indexerRegistrations, offRampSessions } from '../../../src/db/tables/index.ts';
import { createSealer } from '../../../src/lib/sealer.ts';
import { custodySecretKey } from '../../../devnet/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertSessionAlone } from '../../support/offRampSessionRow.ts';
import { pathOf } from '../../support/run/programs.ts';

const [OLD, NEW] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
const before = createSealer([OLD]);
const during = createSealer([NEW, OLD]);
const after = createSealer([NEW]);

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

/** Inserts registrations whose secrets are their numbers. */
async function insertRegistrations(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID()).toSorted();
  await database.handle.db.insert(indexerRegistrations).values(
    ids.map((id, number) => ({
      id,
      url: 'http://127.0.0.1:9',
      webhookId: id,
      sealedSecret: before.seal(`secret ${number}`, sealedPlace('registrationSecret', id)),
      createdAt: new Date(),
      replacedAt: new Date(),
    })),
  );
  return ids;
}

function insertSession(sealedOf: (id: string) => string): Promise<string> {
  const id = randomUUID();
  return insertSessionAlone(database.handle.db, { id, sealedPayoutAccount: sealedOf(id) });
}

const registrations = () =>
  database.handle.db.select().from(indexerRegistrations).orderBy(indexerRegistrations.id);
const isNew = (sealed: string | null) => sealed?.startsWith(after.currentPrefix);

function startCommand(settings: Record<string, string> = { SEALING_SECRETS: NEW }) {
  const folder = mkdtemp(join(tmpdir(), 'reseal-'));
  const lines: string[] = [];
  const ended = folder.then(async (dataDir) => {
    const env = {
      ...process.env,
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      LEDGER_SECRET_KEY: custodySecretKey,
      APP_SECRET: OLD,
      ...settings,
    };
    child = spawn(process.execPath, [pathOf('src/cli/sealingRotate.ts')], { env });
    child.stdout?.on('data', (data: Buffer) => lines.push(data.toString()));
    child.stderr?.on('data', (data: Buffer) => lines.push(data.toString()));
    const code = await new Promise<number | null>((resolve) => child?.once('close', resolve));
    await rm(dataDir, { recursive: true, force: true });
    return code;
  });
  let child: ReturnType<typeof spawn> | undefined;
  return { said: () => lines.join(''), kill: () => child?.kill('SIGKILL'), ended };
}

it('says without SEALING_SECRETS that there is no other key to take out', { timeout: 60_000 }, async () => {
  const command = startCommand({});
  expect(await command.ended).toBe(0);
  expect(command.said()).toContain('SEALING_SECRETS is not set');
  expect(command.said()).not.toContain('no longer needed');
});

it(
  'calls no key the old one by itself: before the new one is in front, that is the one to keep',
  { timeout: 60_000 },
  async () => {
    await insertRegistrations(1);
    const command = startCommand({ SEALING_SECRETS: `${OLD},${NEW}` });
    expect(await command.ended).toBe(0);
    expect(command.said()).not.toContain('old key');
    expect(command.said()).toContain('keep the first');
  },
);

it('goes on where it was killed, and then needs the old key no more', { timeout: 120_000 }, async () => {
  const ids = await insertRegistrations(1000);
  const session = await insertSession((id) => before.seal('an account', sealedPlace('payoutAccount', id)));
  // In the second of five pages the command waits for a row that another transaction has locked.
  const locker = postgres(database.url, { max: 1 });
  await locker.begin(async (tx) => {
    await tx`SELECT 1 FROM indexer_registrations WHERE id = ${ids[300] ?? ''} FOR UPDATE`;
    const killed = startCommand();
    await expect.poll(killed.said, { timeout: 50_000 }).toContain('200 of 1001 sealed anew');
    killed.kill();
    expect(await killed.ended).toBe(null);
  });
  await locker.end();
  const half = await registrations();
  expect(half.filter(({ sealedSecret }) => isNew(sealedSecret))).toHaveLength(200);
  // Between the runs every stored secret opens.
  for (const [number, { id, sealedSecret }] of half.entries()) {
    const opened = during.unseal(sealedSecret ?? '', sealedPlace('registrationSecret', id));
    if (opened !== `secret ${number}`) throw new Error(`${id} opens as ${opened}`);
  }
  // Two runs at once share the rest.
  const resumed = startCommand();
  const beside = await resealAll({ db: database.handle.db, sealer: during, rowsPerPage: 7 });
  expect(await resumed.ended).toBe(0);
  expect(resumed.said()).toContain('the others are no longer needed');
  expect(beside).toMatchObject({ left: 0, problems: [] });
  for (const [number, { id, sealedSecret }] of (await registrations()).entries()) {
    expect(after.unseal(sealedSecret ?? '', sealedPlace('registrationSecret', id))).toBe(`secret ${number}`);
  }
  const [stored] = await database.handle.db.select().from(offRampSessions);
  expect(after.unseal(stored?.sealedPayoutAccount ?? '', sealedPlace('payoutAccount', session))).toBe(
    'an account',
  );
});

it('leaves what does not open, and says which', async () => {
  const [first = '', moved = '', last = ''] = await insertRegistrations(3);
  const rows = await registrations();
  // Copies a secret from another row, past the database's rules.
  await database.handle.db.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    await tx.execute(
      sql`UPDATE indexer_registrations SET sealed_secret = ${rows[0]?.sealedSecret ?? ''} WHERE id = ${moved}`,
    );
  });
  const lost = await insertSession((id) =>
    createSealer([randomBytes(32).toString('base64')]).seal('an account', sealedPlace('payoutAccount', id)),
  );
  const report = await resealAll({ db: database.handle.db, sealer: during, rowsPerPage: 1 });
  expect(report).toMatchObject({ resealed: 2, left: 2 });
  expect(report.problems).toEqual([
    expect.stringContaining(moved),
    expect.stringMatching(new RegExp(`${lost}.*SEALING_SECRETS does not have`)),
  ]);
  const done = (await registrations()).filter(({ sealedSecret }) => isNew(sealedSecret)).map(({ id }) => id);
  expect(done).toEqual([first, last]);
});

it('is the only change of a sealed text that the database accepts', async () => {
  const account = (id: string, sealer = before) =>
    sealer.seal('an account', sealedPlace('payoutAccount', id));
  const id = await insertSession((session) => account(session));
  const { handle } = database;
  await expect(
    handle.sql`UPDATE off_ramp_sessions SET sealed_payout_account = ${account(id)} WHERE id = ${id}`,
  ).rejects.toThrow('sealed_payout_account of off_ramp_sessions');
  await expect(
    handle.sql`UPDATE off_ramp_sessions SET sealed_payout_account = ${account(id, after)}, fruitless_steps = 1 WHERE id = ${id}`,
  ).rejects.toThrow('is fixed once written');
  await expect(
    handle.sql`UPDATE off_ramp_sessions SET sealed_payout_account = 'none' WHERE id = ${id}`,
  ).rejects.toThrow('is fixed once written');
  const [registration = ''] = await insertRegistrations(1);
  await expect(
    handle.sql`UPDATE indexer_registrations SET sealed_secret = NULL WHERE id = ${registration}`,
  ).rejects.toThrow('sealed_secret of indexer_registrations');
});
