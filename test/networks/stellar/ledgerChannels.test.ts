/**
 * ledger:channels and ledger:check on a Stellar network: keys are on disk before they have money and never on
 * the terminal, accounts are made once, and the database records the sequences that custody used for them.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Keypair } from '@stellar/stellar-sdk';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureChannels } from '../../../src/diagnostics/ensureChannels.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { signingAccounts } from '../../../src/db/tables/index.ts';
import { checkLedger } from '../../../src/diagnostics/checkLedger.ts';
import type { Check } from '../../../src/ledger/network/check.ts';
import type { StellarLedger } from '../../../src/ledger/network/stellar/settings.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { silentLog } from '../../../devnet/platform.ts';
import { startStellarDevnet, type StellarDevnet } from '../../../devnet/stellar/startStellarDevnet.ts';
import { pathOf } from '../../support/run/programs.ts';

const run = promisify(execFile);
const XLM = 10_000_000n;

let devnet: StellarDevnet;
let database: TestDatabase;
let folder: string;
let custody: Keypair;

beforeEach(async () => {
  const startsAt = Math.floor(Date.now() / 1000);
  devnet = await startStellarDevnet({ startsAt, closeSeconds: 1 });
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'ledger-channels-'));
  custody = Keypair.random();
  devnet.fund(custody.publicKey());
});
afterEach(async () => {
  await devnet.close();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

function environment(more: Record<string, string> = {}): Record<string, string> {
  return {
    DATA_DIR: folder,
    DATABASE_URL: database.url,
    LEDGER_NETWORK: 'ledger-testnet',
    LEDGER_RPC_URL: devnet.url,
    LEDGER_SECRET_KEY: custody.secret(),
    LEDGER_FACTORY_ADDRESS: devnet.factoryAddress,
    ...more,
  };
}

async function ledgerOf(more?: Record<string, string>): Promise<StellarLedger> {
  const { ledger } = await loadConfig(environment(more));
  if (ledger.family !== 'stellar') throw new Error(`the network is ${ledger.family}`);
  return ledger;
}

async function ensure(count: number, more?: Record<string, string>) {
  const deps = { ledger: await ledgerOf(more), dataDir: folder, db: database.handle.db, random: randomBytes };
  return ensureChannels(deps, { count, fundsStroops: 10n * XLM });
}

const keyFile = () => join(folder, 'ledger-channels.env');
const keysOnDisk = async () =>
  (await readFile(keyFile(), 'utf8')).trim().replace('LEDGER_CHANNEL_SECRET_KEYS=', '');

describe('making channels', () => {
  it('creates and funds accounts whose keys its owner alone can read', async () => {
    const { channels, made, keys } = await ensure(3);
    expect(channels.map(({ balanceStroops }) => balanceStroops)).toEqual([10n * XLM, 10n * XLM, 10n * XLM]);
    expect(made).toEqual(channels.map(({ address }) => address));
    expect(keys.file).toBe(keyFile());
    expect((await stat(keyFile())).mode & 0o777).toBe(0o600);
    const addresses = (await keysOnDisk()).split(',').map((key) => Keypair.fromSecret(key).publicKey());
    expect(addresses).toEqual(made);
  });

  it('makes keys once when two commands run at the same time', async () => {
    let keysMade = 0;
    const random = (size: number) => {
      if (size === 32) keysMade++;
      return randomBytes(size);
    };
    const deps = { ledger: await ledgerOf(), dataDir: folder, db: database.handle.db, random };
    const request = { count: 3, fundsStroops: 10n * XLM };
    const both = await Promise.allSettled([ensureChannels(deps, request), ensureChannels(deps, request)]);
    // One of the two may find custody's sequence used by the other.
    const done = both.flatMap((end) => (end.status === 'fulfilled' ? [end.value.keys.secretKeys] : []));
    expect(done.length).toBeGreaterThan(0);
    for (const keys of done) expect(keys.join()).toBe(await keysOnDisk());
    expect(keysMade).toBe(3);
  });

  it('leaves what is there, adds what is missing, and keeps every key', async () => {
    const first = await ensure(2);
    const second = await ensure(3);
    expect(second.made).toHaveLength(1);
    expect(second.keys.secretKeys.slice(0, 2)).toEqual(first.keys.secretKeys);
    expect((await ensure(1)).channels).toHaveLength(3);
    const configured = { LEDGER_CHANNEL_SECRET_KEYS: await keysOnDisk() };
    const last = await ensure(3, configured);
    expect(last).toMatchObject({ made: [], keys: { file: null } });
  });

  it('tops up those that have less than half, and no others', async () => {
    const { channels } = await ensure(3);
    const [rich, poor] = channels.map(({ address }) => address);
    const deps = { ledger: await ledgerOf(), dataDir: folder, db: database.handle.db, random: randomBytes };
    const more = { count: 1, fundsStroops: 20n * XLM };
    // The top-up limit is 10 XLM, half of 20; one channel gets below it.
    devnet.fund(poor ?? '', -1n);
    const topped = await ensureChannels(deps, more);
    expect(topped).toMatchObject({ made: [], toppedUp: [poor] });
    const balanceOf = (address = '') =>
      topped.channels.find((channel) => channel.address === address)?.balanceStroops;
    expect(balanceOf(poor)).toBe(20n * XLM);
    expect(balanceOf(rich)).toBe(10n * XLM);
    expect(await ensureChannels(deps, more)).toMatchObject({ made: [], toppedUp: [] });
  });

  it('adds to configured keys that are in no file', async () => {
    const own = Keypair.random();
    const { keys, made } = await ensure(2, { LEDGER_CHANNEL_SECRET_KEYS: own.secret() });
    expect(keys.secretKeys[0]).toBe(own.secret());
    expect(made).toContain(own.publicKey());
    expect(await keysOnDisk()).toBe(keys.secretKeys.join(','));
  });

  it('has the keys on disk when the money can’t be had', async () => {
    const poor = Keypair.random();
    await expect(ensure(2, { LEDGER_SECRET_KEY: poor.secret() })).rejects.toThrow(poor.publicKey());
    const keys = await keysOnDisk();
    expect((await ensure(2)).keys.secretKeys.join(',')).toBe(keys);
  });

  it('goes on after a node that was away', async () => {
    devnet.controls.faults.unreachable = 'status-503';
    await expect(ensure(2)).rejects.toThrow();
    devnet.controls.faults.unreachable = null;
    expect((await ensure(2)).made).toHaveLength(2);
  });

  it('does not touch a damaged file of keys', async () => {
    await writeFile(keyFile(), 'LEDGER_CHANNEL_SECRET_KEYS=SNONSENSE\n');
    await expect(ensure(2)).rejects.toThrow(`${keyFile()} is damaged`);
    expect(await keysOnDisk()).toBe('SNONSENSE');
  });

  it('notes in the database the sequences that it uses up', async () => {
    const network = await connectLedger(await ledgerOf(), database.handle);
    const nextOf = async () => (await network.nextSequences()).get(custody.publicKey()) ?? 0n;
    const { db } = database.handle;
    const address = custody.publicKey();
    await db.insert(signingAccounts).values({ address, nextSequence: await nextOf() });
    await ensure(2);
    expect(await db.select().from(signingAccounts)).toMatchObject([{ nextSequence: await nextOf() }]);
  });

  it('hides no sequence from an old copy of the database, and pays nothing from there', async () => {
    const network = await connectLedger(await ledgerOf(), database.handle);
    const address = custody.publicKey();
    const next = (await network.nextSequences()).get(address) ?? 0n;
    const { db } = database.handle;
    await db.insert(signingAccounts).values({ address, nextSequence: next - 1n });
    await expect(ensure(2)).rejects.toThrow('the database is an old copy, or the key was used elsewhere');
    expect(await db.select().from(signingAccounts)).toMatchObject([{ nextSequence: next - 1n }]);
    expect((await network.nextSequences()).get(address)).toBe(next);
  });

  it('tops up what is configured although custody’s key was used elsewhere: no server compares its sequences then', async () => {
    const { channels } = await ensure(2);
    const configured = { LEDGER_CHANNEL_SECRET_KEYS: await keysOnDisk() };
    const address = custody.publicKey();
    const { db } = database.handle;
    await db.insert(signingAccounts).values({ address, nextSequence: 1n });
    devnet.fund(channels[0]?.address ?? '', -6n * XLM);
    expect((await ensure(1, configured)).toppedUp).toEqual([channels[0]?.address]);
    // Without channels custody signs again, and its transactions since then are examined.
    expect(await db.select().from(signingAccounts)).toMatchObject([{ nextSequence: 1n }]);
  });
});

describe('the command', () => {
  const ledgerChannels = (...args: string[]) =>
    run(process.execPath, [pathOf('src/cli/ledgerChannels.ts'), ...args], {
      env: { PATH: process.env['PATH'], NO_COLOR: '1', ...environment() },
    });

  it('prints addresses and the file, and no key', async () => {
    const help = await ledgerChannels('--help');
    expect(help.stdout).toContain('(default: 10)');
    const { stdout } = await ledgerChannels('--count', '2', '--funds', '4.5');
    const keys = (await keysOnDisk()).split(',');
    for (const key of keys) {
      expect(stdout).toContain(`${Keypair.fromSecret(key).publicKey()}  4.5 XLM  made now`);
      expect(stdout).not.toContain(key);
    }
    expect(stdout).toContain(keyFile());
  });

  it.each([['0'], ['201'], ['some']])('refuses --count %s', async (count) => {
    await expect(ledgerChannels('--count', count)).rejects.toMatchObject({
      stderr: expect.stringContaining('from 1 to 200'),
    });
  });
});

async function look(more: Record<string, string> = {}): Promise<Check[]> {
  const checks: Check[] = [];
  for await (const check of checkLedger(await loadConfig(environment(more)), silentLog)) checks.push(check);
  return checks;
}

it('ledger:check names channels that are missing, and finds them when they are made', async () => {
  const [one, other] = [Keypair.random(), Keypair.random()];
  const keys = `${one.secret()},${other.secret()}`;
  const before = await look({ LEDGER_CHANNEL_SECRET_KEYS: keys });
  expect(before.find(({ name }) => name === 'channels')).toMatchObject({
    result: 'fail',
    remedy: expect.stringContaining('ledger:channels'),
  });
  await ensure(2, { LEDGER_CHANNEL_SECRET_KEYS: keys });
  const after = await look({ LEDGER_CHANNEL_SECRET_KEYS: keys });
  expect(after.filter(({ result }) => result === 'fail')).toEqual([]);
  expect(after.find(({ name }) => name === 'channels')?.result).toBe('pass');
});

it('ledger:check warns of a database that does not tell its timeline', async () => {
  const timeline = async () => (await look()).find(({ name }) => name === 'timeline');
  expect(await timeline()).toBeUndefined();
  await database.handle.db.execute(
    sql`CREATE OR REPLACE FUNCTION database_history() RETURNS text LANGUAGE sql AS 'SELECT NULL::text'`,
  );
  expect(await timeline()).toMatchObject({ result: 'warn', remedy: expect.stringContaining('90 s') });
});
