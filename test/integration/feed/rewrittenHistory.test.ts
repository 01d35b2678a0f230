/**
 * A token whose history was rewritten below finality: its stored records can't be taken back.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FeedToken } from '../../../src/feed/appendRecords.ts';
import { fillToken } from '../../../src/feed/fillToken.ts';
import { readUnstored, recordSettled } from '../../../src/feed/recordSettled.ts';
import type { LedgerNetwork, RetirementRecord } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { reconcileProject } from '../../../src/reconciliation/reconcileProject.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { openProject } from '../../../devnet/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';

const BURNED_AT = 1_700_000_000n;

let database: TestDatabase;
let platform: Platform;
const unused: TokenizedProject[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  platform = await platformOn(database.handle, await embeddedNetworkOn(database.handle));
  await platform.start();
  for (let projects = 0; projects < 9; projects++) unused.push(await openProject(platform, 100n));
  await platform.stop();
});
afterAll(() => database.drop());

function newProject(): TokenizedProject {
  const project = unused.pop();
  if (!project) throw new Error('too few projects');
  return project;
}

type Burn = Omit<RetirementRecord, 'index'>;

const burn = (note: string, more: Partial<Burn> = {}): Burn => ({
  retiredBy: platform.dependencies.network.custodyAddress,
  amount: toBaseUnits(1n),
  timestamp: BURNED_AT,
  beneficiary: 'Acme Ltd',
  note,
  ...more,
});

/** A network on which the token has these records. */
function networkWith(
  burns: readonly Burn[],
  onRead: () => Promise<void> = async () => {},
  rewritten?: string,
): LedgerNetwork {
  const records = burns.map((facts, index) => ({ ...facts, index }));
  const totals = {
    totalSupply: 0n,
    totalRetired: toBaseUnits(BigInt(records.length)),
    totalRetirements: records.length,
  };
  return {
    ...platform.dependencies.network,
    async retirementRecords(_tokenAddress, from, limit) {
      await onRead();
      const page = { records: records.slice(from, from + limit), totals };
      return rewritten === undefined ? page : { ...page, rewritten };
    },
  };
}

const feedOn = (network: LedgerNetwork) => ({ ...platform.dependencies.feed, network });

const tokenOf = ({ id: projectId, tokenAddress }: TokenizedProject): FeedToken => ({
  projectId,
  tokenAddress,
});

async function storedNotes({ tokenAddress }: FeedToken): Promise<string[]> {
  const rows = await database.handle.db.execute<{ note: string }>(sql`
    SELECT note FROM retirement_records WHERE token_address = ${tokenAddress} ORDER BY index`);
  return rows.map(({ note }) => note);
}

describe('a history of which a stored record is another one now', () => {
  const before = () => [burn('first'), burn('second'), burn('third')];
  /** Another holder's burn took the third place; the third burn landed again behind it. */
  const after = () => [
    burn('first'),
    burn('second'),
    burn('of a holder', { retiredBy: 'a holder' }),
    burn('third', { timestamp: BURNED_AT + 600n }),
  ];

  it('is not continued, by the filler or by a settlement, and a reconciliation names it', async () => {
    const project = newProject();
    const token = tokenOf(project);
    const { db } = database.handle;
    await fillToken(feedOn(networkWith(before())), token);

    const feed = feedOn(networkWith(after()));
    await expect(fillToken(feed, token)).rejects.toThrow(/record 2 of .* is not the stored one/);
    expect(await storedNotes(token)).toEqual(['first', 'second', 'third']);

    const unstored = await readUnstored(feed, [token.tokenAddress]);
    const settled = [{ ...token, recordIndex: 3, txHash: null }];
    expect(await db.transaction((tx) => recordSettled(tx, unstored, settled, new Date()))).toEqual({
      appended: 0,
      behind: [token],
    });
    expect(await storedNotes(token)).toEqual(['first', 'second', 'third']);

    // The database has no change of the token, so an incremental run would compare none of its records.
    for (const fromRecord of [0, Number.POSITIVE_INFINITY]) {
      const deps = { ...platform.dependencies, network: feed.network, feed, fromRecord };
      const { findings } = await reconcileProject(deps, project);
      expect(findings.filter(({ invariant }) => invariant === 'I10')).toMatchObject([
        { message: expect.stringContaining('record 2 of the token is stored with another note, retiredBy') },
        { message: expect.stringContaining('record 3 of the token is not stored') },
      ]);
    }
  });

  it.each([
    ['amount', { amount: 2n }],
    ['retirer', { retiredBy: 'a holder' }],
    ['beneficiary', { beneficiary: 'Another one' }],
    ['note', { note: 'another' }],
  ])('is not continued where the last record has another %s', async (_what, change) => {
    const token = tokenOf(newProject());
    await fillToken(feedOn(networkWith(before())), token);
    const other = [...before().slice(0, 2), burn('third', change), burn('fourth')];
    await expect(fillToken(feedOn(networkWith(other)), token)).rejects.toThrow('is not the stored one');
    expect(await storedNotes(token)).toEqual(['first', 'second', 'third']);
  });

  it('is not continued where another instance stores that record while it is read', async () => {
    const token = tokenOf(newProject());
    await fillToken(feedOn(networkWith(before().slice(0, 2))), token);
    const old = feedOn(networkWith(before()));
    const meanwhile = async () => void (await fillToken(old, token));
    await expect(fillToken(feedOn(networkWith(after(), meanwhile)), token)).rejects.toThrow(
      /record 2 of .* is not the stored one/,
    );
    expect(await storedNotes(token)).toEqual(['first', 'second', 'third']);
  });

  it('is continued where only its date differs', async () => {
    const token = tokenOf(newProject());
    await fillToken(feedOn(networkWith(before().slice(0, 2))), token);
    const later = before().map((facts) => ({ ...facts, timestamp: BURNED_AT + 600n }));
    const feed = feedOn(networkWith(later));
    const unstored = await readUnstored(feed, [token.tokenAddress]);
    const settled = [{ ...token, recordIndex: 2, txHash: null }];
    const settle = () =>
      database.handle.db.transaction((tx) => recordSettled(tx, unstored, settled, new Date()));
    expect(await settle()).toEqual({ appended: 1, behind: [] });
    const longer = feedOn(networkWith([...later, burn('fourth')]));
    expect(await fillToken(longer, token)).toMatchObject({ totalRetirements: 4 });
    expect(await storedNotes(token)).toEqual(['first', 'second', 'third', 'fourth']);
  });
});

describe('a history that contradicts what was final, and is not accepted', () => {
  const unaccepted = (burns: readonly Burn[]) =>
    feedOn(networkWith(burns, undefined, 'Block 7 was final as 0x1, and is 0x2 now'));

  it('is compared, but not stored, by the filler or by a settlement', async () => {
    const project = newProject();
    const token = tokenOf(project);
    const { db } = database.handle;
    await fillToken(feedOn(networkWith([burn('first')])), token);

    const feed = unaccepted([burn('first'), burn('second', { retiredBy: 'a holder' })]);
    await expect(fillToken(feed, token)).rejects.toThrow(/from 1 on .* Block 7 was final as/);
    const unstored = await readUnstored(feed, [token.tokenAddress]);
    const settled = [{ ...token, recordIndex: 1, txHash: null }];
    expect(await db.transaction((tx) => recordSettled(tx, unstored, settled, new Date()))).toEqual({
      appended: 0,
      behind: [token],
    });
    expect(await storedNotes(token)).toEqual(['first']);

    const findingsOf = async (compared: typeof feed) => {
      const deps = { ...platform.dependencies, network: compared.network, feed: compared };
      const { findings } = await reconcileProject({ ...deps, fromRecord: Number.POSITIVE_INFINITY }, project);
      return findings.filter(({ invariant }) => invariant === 'I10');
    };
    expect(await findingsOf(feed)).toEqual([]);
    // A stored record that differs on the network is found, and keeps signing halted.
    expect(await findingsOf(unaccepted([burn('other'), burn('first')]))).toMatchObject([
      { message: expect.stringContaining('record 0 of the token is stored with another note') },
    ]);
    expect(await storedNotes(token)).toEqual(['first']);
  });
});

it('an answer that leaves a record out is not stored, by the filler or by a settlement', async () => {
  const token = tokenOf(newProject());
  const whole = networkWith([burn('first'), burn('second'), burn('third')]);
  const withoutSecond: LedgerNetwork['retirementRecords'] = async (...asked) => {
    const page = await whole.retirementRecords(...asked);
    return { ...page, records: page.records.filter(({ index }) => index !== 1) };
  };
  const feed = feedOn({ ...whole, retirementRecords: withoutSecond });
  await expect(fillToken(feed, token)).rejects.toThrow('number 1 of the answer has index 2');
  const unstored = await readUnstored(feed, [token.tokenAddress]);
  const settled = [{ ...token, recordIndex: 2, txHash: null }];
  const settle = database.handle.db.transaction((tx) => recordSettled(tx, unstored, settled, new Date()));
  expect(await settle).toEqual({ appended: 0, behind: [token] });
  expect(await storedNotes(token)).toEqual([]);
});
