/**
 * The report when the network answers only some questions, or has more than a reconciliation examines.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openProject } from '../../../devnet/platform.ts';
import { receipts } from '../../../src/db/tables/index.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { NetworkRefusal, NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { compareRecords } from '../../../src/reconciliation/compareRecords.ts';
import { reconcileAll, reconcileWithoutNetwork } from '../../../src/reconciliation/reconcileAll.ts';
import { reconcileReceipts } from '../../../src/reconciliation/reconcileReceipts.ts';
import type { Comparison } from '../../../src/reconciliation/verdicts.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';
import { makeRestorable } from '../../support/restorable.ts';
import { activeReceipt, depositedCashOut } from '../../support/warehouse.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let project: TokenizedProject;

beforeAll(async () => {
  ({ database, network, platform } = await startFaultyPlatform(() => null));
  project = await openProject(platform, 100n);
  for (let more = 0; more < 4; more++) await openProject(platform, 100n);
  const input = { buyerId: 'acme', tokenAddress: project.tokenAddress, amountCO2e: 10n };
  await purchase(platform.dependencies, 'acme', { ...input, idempotencyKey: randomUUID() });
  await depositedCashOut(platform);
  await depositedCashOut(platform);
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

const reconcile = (over: Partial<LedgerNetwork>) =>
  reconcileAll({ ...platform.dependencies, network: { ...network, ...over } });

const unavailable = async () => {
  throw new NetworkUnavailable('connection refused');
};

/** Answers the first call, and no other. */
function onlyFirst<T>(answer: T): () => Promise<T> {
  let calls = 0;
  return async () => (calls++ === 0 ? answer : unavailable());
}

const found = ({ findings }: Comparison) => findings.map(({ invariant }) => invariant);
const open = ({ notProved }: Comparison) => notProved.map((item) => `${item.invariant} ${item.obstacle}`);

/** A token with records that the database does not have. */
function compareStrangeRecords(totalRetirements: number, unansweredFrom = Infinity): Promise<Comparison> {
  const totals = { totalSupply: 0n, totalRetired: BigInt(totalRetirements), totalRetirements };
  const retirementRecords: LedgerNetwork['retirementRecords'] = async (_tokenAddress, from, limit) => {
    if (from >= unansweredFrom) return unavailable();
    const records = Array.from({ length: Math.min(limit, totalRetirements - from) }, (_, place) => ({
      index: from + place,
      retiredBy: network.custodyAddress,
      amount: 1n,
      timestamp: 1n,
      beneficiary: 'Acme Ltd',
      note: 'strange',
    }));
    return { totals, records };
  };
  const stored = { id: project.id, tokenAddress: project.tokenAddress, assetId: project.assetId };
  const deps = { ...platform.dependencies, network: { ...network, retirementRecords } };
  return compareRecords(deps, stored, { totals, claimedUpTo: 0 });
}

describe('findings are kept', () => {
  it('of a token’s sums, when its records have no answer', async () => {
    const { dependencies } = platform;
    const retirementRecords: LedgerNetwork['retirementRecords'] = async (token, ...page) =>
      token === project.tokenAddress ? unavailable() : network.retirementRecords(token, ...page);
    const compared = await reconcileAll({
      ...dependencies,
      feed: { ...dependencies.feed, network: { ...network, retirementRecords } },
      network: {
        ...network,
        balanceOf: async (token, holder) =>
          (await network.balanceOf(token, holder)) - (token === project.tokenAddress ? 1n : 0n),
      },
    });
    expect(found(compared)).toEqual(['I2']);
    expect(new Set(open(compared))).toEqual(new Set(['I3 NO_ANSWER', 'I4 NO_ANSWER', 'I10 NO_ANSWER']));
  });

  it('of pages of records, when another one has no answer', async () => {
    const whole = await compareStrangeRecords(450);
    expect([new Set(found(whole)), open(whole)]).toEqual([new Set(['I10', 'I4']), []]);
    const compared = await compareStrangeRecords(450, 400);
    expect(new Set(found(compared))).toEqual(new Set(['I10', 'I4']));
    expect(open(compared)).toEqual(['I3 NO_ANSWER', 'I4 NO_ANSWER', 'I10 NO_ANSWER']);
  });

  it('of deposits and of outcomes, when others have no answer', async () => {
    const compared = await reconcile({
      offRampDeposit: onlyFirst(null),
      outcome: onlyFirst({ status: 'failed', reason: 'OTHER' } as never),
    });
    expect(found(compared).sort()).toEqual(['I12', 'I13']);
    expect(new Set(open(compared))).toEqual(new Set(['I12 NO_ANSWER', 'I13 NO_ANSWER']));
  });
});

it('more records without a retirement than are examined leave the match of records unproved', async () => {
  expect(open(await compareStrangeRecords(2_000))).toEqual([]);
  const { notProved } = await compareStrangeRecords(2_010);
  expect(notProved).toMatchObject([
    { invariant: 'I4', obstacle: 'LEFT_OUT', message: expect.stringContaining('10 more of custody') },
  ]);
});

describe('a network that answers only at the start', () => {
  it('is asked about a few tokens alone, and the database about everything', async () => {
    await logAll(platform.dependencies.logs);
    const restorable = await makeRestorable(database);
    await restorable.corrupt(`UPDATE accounts SET owner_id = 'mallory' WHERE owner_id = 'acme'`);
    const asked: string[] = [];
    const compared = await reconcile({
      carbonTotals: async (token) => {
        asked.push(token);
        return unavailable();
      },
      totalSuppliesOf: unavailable,
      settlementContract: unavailable,
      offRampDeposit: unavailable,
      outcome: unavailable,
    });
    await restorable.restore();
    await restorable.close();
    expect(found(compared)).toContain('I11');
    expect(asked).toHaveLength(3);
    expect(compared).toMatchObject({ projects: 3, unsettledProjects: 5 });
    expect(compared.notProved).toContainEqual({
      invariant: 'I2',
      obstacle: 'NO_ANSWER',
      message: '2 projects were not compared, after the network did not answer for 3',
    });
    const unproved = compared.verdicts.flatMap(({ invariant, notProved }) =>
      notProved.length > 0 ? [invariant] : [],
    );
    expect(unproved).toEqual(['I2', 'I3', 'I4', 'I9', 'I10', 'I12', 'I13']);
  });

  it('is asked about a few pages of receipts alone', async () => {
    const [receipt] = await platform.dependencies.db.select({ id: receipts.id }).from(receipts);
    // Pages consist of ids: ids without a receipt do not change the number of questions.
    const receiptIds = Array.from({ length: 1_000 }, (_, at) =>
      at % 200 === 0 ? receipt!.id : randomUUID(),
    );
    let asked = 0;
    const totalSuppliesOf = async () => {
      asked += 1;
      return unavailable();
    };
    const compared = await reconcileReceipts({
      ...platform.dependencies,
      network: { ...network, totalSuppliesOf },
      receiptIds,
    });
    expect(asked).toBe(3);
    expect(compared).toMatchObject({ receipts: 3, unsettledReceipts: 5 });
    expect(open(compared)).toEqual(
      Array.from({ length: 3 }, () => 'I3 NO_ANSWER').concat('I3 NO_ANSWER', 'I9 NO_ANSWER'),
    );
  });
});

it('pages of changed ids without a receipt to compare are no silence of the network', async () => {
  const [receipt] = await platform.dependencies.db.select({ id: receipts.id }).from(receipts);
  const strangers = Array.from({ length: 800 }, () => randomUUID());
  const receiptIds = [...strangers, receipt!.id];
  const compared = await reconcileReceipts({ ...platform.dependencies, receiptIds });
  expect(compared).toMatchObject({ receipts: 1, unsettledReceipts: 0, notProved: [] });
});

it('a token that the network does not answer about leaves the others of its page compared', async () => {
  const { db } = platform.dependencies;
  const [silent, refused] = [await activeReceipt(platform), await activeReceipt(platform)];
  const totalSuppliesOf: LedgerNetwork['totalSuppliesOf'] = async (tokens) =>
    (await network.totalSuppliesOf(tokens)).map((answer) => {
      const { tokenAddress } = answer;
      if (tokenAddress === silent.tokenAddress)
        return { tokenAddress, error: new NetworkUnavailable('timed out') };
      if (tokenAddress !== refused.tokenAddress) return answer;
      const refusal = { reason: 'CONTRACT_NOT_FOUND', message: 'No token stands there' } as const;
      return { tokenAddress, error: new NetworkRefusal(refusal) };
    });
  const compared = await reconcileReceipts({ db, network: { ...network, totalSuppliesOf } });
  expect(compared.notProved).toEqual([
    { invariant: 'I3', obstacle: 'NO_ANSWER', message: `${silent.assetId}: timed out` },
  ]);
  expect(compared.findings).toEqual([
    {
      invariant: 'I3',
      message: expect.stringContaining(`${refused.assetId}: token ${refused.tokenAddress} can't be read`),
    },
  ]);
  expect(compared.unsettledReceipts).toBe(1);
});

it('a network that does not answer at all leaves the database compared with itself and with the heads of its logs', async () => {
  const { dependencies } = platform;
  const verdicts = async () => {
    const compared = await reconcileWithoutNetwork(dependencies, 'connection refused');
    return Object.fromEntries(compared.verdicts.map(({ invariant, verdict }) => [invariant, verdict]));
  };
  const byInvariant = await verdicts();
  expect(byInvariant).toMatchObject({ I1: 'HOLDS', I11: 'HOLDS', I15: 'HOLDS' });
  const unproved = Object.keys(byInvariant).filter((invariant) => byInvariant[invariant] !== 'HOLDS');
  expect(unproved).toEqual(['I2', 'I3', 'I4', 'I8', 'I9', 'I10', 'I12', 'I13']);
  const restorable = await makeRestorable(database);
  await restorable.corrupt(`UPDATE accounts SET owner_id = 'mallory' WHERE kind = 'buyer'`);
  const corrupted = await verdicts();
  await restorable.restore();
  await restorable.close();
  expect(corrupted).toMatchObject({ I1: 'HOLDS', I11: 'BROKEN', I15: 'BROKEN' });
});
