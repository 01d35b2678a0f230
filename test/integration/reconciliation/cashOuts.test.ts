/**
 * Cash-outs that a reconciliation can compare only in part: of settlement contracts out of use, under review,
 * or decided by an operator.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { NetworkRefusal, NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { DomainError, type ErrorCode } from '../../../src/lib/errors.ts';
import type { RampStatus } from '../../../src/ramp/port.ts';
import { findContradictions } from '../../../src/reconciliation/findContradictions.ts';
import { reconcileDeposits } from '../../../src/reconciliation/reconcileDeposits.ts';
import { reconcilePayouts } from '../../../src/reconciliation/reconcilePayouts.ts';
import { reconcileReceipts } from '../../../src/reconciliation/reconcileReceipts.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';
import type { FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';
import { makeRestorable, type Restorable } from '../../support/restorable.ts';
import {
  activeReceipt,
  cashOutInput,
  decideSession,
  depositedCashOut,
  farmer,
  providerSays,
  reaches,
} from '../../support/warehouse.ts';
import { depositInUse } from '../../support/depositInUse.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let faults: FaultPlan = () => null;

beforeAll(async () => {
  ({ database, network, platform } = await startFaultyPlatform((...call) => faults(...call)));
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

/** @returns what the comparison of a receipt finds, and what it could not prove, about settlement contracts */
async function ofReceipt(
  receiptId: string,
  { isStill = false, ...over }: { isStill?: boolean } & Partial<LedgerNetwork> = {},
): Promise<string[]> {
  const { findings, notProved } = await reconcileReceipts({
    db: database.handle.db,
    network: { ...network, ...over },
    isStill,
    receiptIds: [receiptId],
  });
  return [
    ...findings.map(({ invariant }) => invariant),
    ...notProved.map(({ invariant, obstacle }) => `${invariant} ${obstacle}`),
  ];
}

it('finds further payouts that a provider has opened under one reference', async () => {
  const { id } = await depositedCashOut(platform);
  const { ramp, db } = platform.dependencies;
  const findSessionByReference = async (reference: string) => {
    const found = await ramp.findSessionByReference(reference);
    return found && { ...found, others: 1 };
  };
  const { findings } = await reconcilePayouts({
    db,
    ramp: { name: ramp.name, findSessionByReference },
    offRampSessionIds: [id],
  });
  const message = `off-ramp session ${id}: its provider has 2 payouts of that reference`;
  expect(findings).toEqual([{ invariant: 'I13', message }]);
});

it('holds each settlement contract against its own cash-outs, also when another one or none is in use', async () => {
  const receipt = await activeReceipt(platform);
  await depositedCashOut(platform, receipt);
  const inUse = await network.settlementContract();
  if (inUse === null) throw new Error('no settlement contract is in use');
  const compare = (over: Partial<LedgerNetwork>) =>
    reconcileReceipts({
      ...platform.dependencies,
      network: { ...network, ...over },
      receiptIds: [receipt.id],
    });
  const other = { ...inUse, address: network.custodyAddress.replace(/.$/, 'A') };
  const emptied: LedgerNetwork['balancesOf'] = async (tokens) =>
    tokens.map((tokenAddress) => ({ tokenAddress, amount: 0n }));
  const balancesOf: LedgerNetwork['balancesOf'] = (tokens, holder) =>
    holder === other.address ? emptied(tokens, holder) : network.balancesOf(tokens, holder);
  for (const settlementContract of [async () => other, async () => null]) {
    expect(await compare({ settlementContract, balancesOf })).toMatchObject({ findings: [], notProved: [] });
    const { findings } = await compare({ settlementContract, balancesOf: emptied });
    expect(findings).toEqual([
      {
        invariant: 'I9',
        message: expect.stringMatching(
          new RegExp(`the settlement contract ${inUse.address} holds 0 base units, .* say 100\\d{18}$`),
        ),
      },
    ]);
  }
});

it('looks at a receipt again by itself before it says that a contract holds something else', async () => {
  const receipts = [await activeReceipt(platform), await activeReceipt(platform)];
  for (const receipt of receipts) await depositedCashOut(platform, receipt);
  const receiptIds = receipts.map(({ id }) => id);
  const asked: number[] = [];
  // The extra amount of a session that was opened and settled during the reading of the page.
  const passing: LedgerNetwork['balancesOf'] = async (tokens, holder) => {
    asked.push(tokens.length);
    const answers = await network.balancesOf(tokens, holder);
    return answers.map((answer) =>
      'amount' in answer && tokens.length > 1 ? { ...answer, amount: answer.amount + 1n } : answer,
    );
  };
  const compare = (
    balancesOf: LedgerNetwork['balancesOf'],
    totalSuppliesOf: LedgerNetwork['totalSuppliesOf'] = network.totalSuppliesOf,
  ) => {
    const asked = { ...network, balancesOf, totalSuppliesOf };
    return reconcileReceipts({ ...platform.dependencies, network: asked, receiptIds });
  };
  expect(await compare(passing)).toMatchObject({ findings: [], notProved: [] });
  expect(asked).toEqual([2, 1, 1]);
  // As on Stellar, the refusal names the function.
  const refusing = (functionName: string) => async () => {
    throw new NetworkRefusal({ reason: 'WRONG_TEMPLATE', message: `It has no ${functionName}` });
  };
  const { findings } = await compare(refusing('balance'), refusing('total_supply'));
  expect(findings).toMatchObject([{ invariant: 'I3' }, { invariant: 'I3' }]);
});

it('takes a deposit that landed unseen for what is under review', async () => {
  const receipt = await activeReceipt(platform);
  faults = (method) => (method === 'outcome' ? 'history-gone' : null);
  const session = await cashOut(platform.dependencies, farmer, cashOutInput(receipt)).finally(
    () => (faults = () => null),
  );
  expect(session).toMatchObject({ state: 'NEEDS_REVIEW', depositedAt: null });
  const compared = await reconcileDeposits({ ...platform.dependencies, offRampSessionIds: [session.id] });
  expect(compared).toMatchObject({
    findings: [],
    notProved: [{ invariant: 'I13', obstacle: 'UNDER_REVIEW' }],
  });
  expect(await ofReceipt(receipt.id)).toEqual(['I9 UNDER_REVIEW']);
  expect(await ofReceipt(receipt.id, { isStill: true })).toEqual(['I9']);
});

it('takes a release that has not landed for what is under way', async () => {
  const { id, receiptId, providerSessionId } = await depositedCashOut(platform);
  faults = (method) => (method === 'broadcast' ? 'unreachable' : null);
  try {
    await providerSays(platform, providerSessionId, 'settled');
    await reaches(platform, id, 'CONFIRMING');
    expect(await ofReceipt(receiptId)).toEqual(['I9 UNDER_WAY']);
    expect(await ofReceipt(receiptId, { isStill: true })).toEqual([]);
  } finally {
    faults = () => null;
  }
  await reaches(platform, id, 'SETTLED');
  expect(await ofReceipt(receiptId)).toEqual([]);
});

it.each([
  ['a refund', 'finds that the deposit is lost since', ['I13']],
  ['no deposit', 'takes the deposit for lost with it', []],
] as const)('of a session accepted with %s shown %s', async (shown, _, expected) => {
  const { id, providerSessionId } = await depositedCashOut(platform);
  await providerSays(platform, providerSessionId, 'failed');
  await reaches(platform, id, 'REFUNDED');
  await providerSays(platform, providerSessionId, 'settled');
  await reaches(platform, id, 'NEEDS_REVIEW');
  const withoutIt = { ...platform.dependencies, network: { ...network, offRampDeposit: async () => null } };
  const deciding = shown === 'a refund' ? platform.dependencies : withoutIt;
  const accept = { offRampSessionId: id, decision: 'ACCEPT', reason: 'looked at it' } as const;
  expect(await decideSession(deciding, 'operator', accept)).toMatchObject({ state: 'REFUNDED' });
  const { findings } = await reconcileDeposits({ ...withoutIt, offRampSessionIds: [id] });
  expect(findings.map(({ invariant }) => invariant)).toEqual(expected);
});

it('finds what the settlement contract holds of a receipt that has no cash-out', async () => {
  const { id } = await activeReceipt(platform);
  const balancesOf: LedgerNetwork['balancesOf'] = async (tokens) =>
    tokens.map((tokenAddress) => ({ tokenAddress, amount: 1n }));
  expect(await ofReceipt(id)).toEqual([]);
  expect(await ofReceipt(id, { balancesOf })).toEqual(['I9']);
});

describe('a deposit in the settlement contract', () => {
  let restorable: Restorable;
  let session: Awaited<ReturnType<typeof depositedCashOut>>;
  beforeAll(async () => {
    session = await depositedCashOut(platform);
    await logAll(platform.dependencies.logs);
    restorable = await makeRestorable(database);
  });
  afterEach(() => restorable.restore());
  afterAll(() => restorable.close());

  const change = (set: string) =>
    restorable.corrupt(`UPDATE off_ramp_sessions SET ${set} WHERE id = '${session.id}'`);
  const compare = (over: Partial<LedgerNetwork> = {}) =>
    reconcileDeposits({
      ...platform.dependencies,
      network: { ...network, ...over },
      offRampSessionIds: [session.id],
    });

  it('may come from a holder’s wallet at any moment, and go back to it as less than was agreed', async () => {
    const ofHolder = `depositor = 'HOLDER', signature_due_at = now(), due_at = NULL`;
    await change(`${ofHolder}, state = 'CLOSED', deposited_at = NULL, ended_at = now(), state_reason = 'x'`);
    expect(await ofReceipt(session.receiptId)).toEqual(['I9 UNDER_WAY']);
    await restorable.restore();
    const less: LedgerNetwork['balancesOf'] = async (tokens) =>
      tokens.map((tokenAddress) => ({ tokenAddress, amount: 1n }));
    expect(await ofReceipt(session.receiptId, { balancesOf: less })).toEqual(['I9']);
    await change(`${ofHolder}, state = 'REFUNDING', resolution = 'REFUND'`);
    expect(await ofReceipt(session.receiptId, { balancesOf: less })).toEqual(['I9 UNDER_WAY']);
  });

  it('is compared in the contract of its session, whichever is in use', async () => {
    const own = (await network.settlementContract())?.address;
    const others = {
      settlementContract: async () => null,
      offRampDeposit: async (contract: string, reference: string) =>
        contract === own ? network.offRampDeposit(contract, reference) : null,
    };
    expect(await compare(others)).toEqual({ findings: [], notProved: [] });
    await change(`settlement_address = '${network.custodyAddress}'`);
    const { findings } = await compare(others);
    expect(findings).toMatchObject([{ invariant: 'I13', message: expect.stringContaining('no deposit') }]);
  });

  it('is not proved when another kind of contract stands at the address', async () => {
    const message = 'It has no get_off_ramp';
    const { findings, notProved } = await compare({
      offRampDeposit: () => Promise.reject(new NetworkRefusal({ reason: 'WRONG_TEMPLATE', message })),
    });
    expect(findings).toEqual([]);
    const text = expect.stringContaining(message) as string;
    expect(notProved).toEqual([{ invariant: 'I13', obstacle: 'NO_DATA', message: text }]);
  });

  it('is compared although another contract with many sessions cannot be read', async () => {
    const own = session.settlementAddress;
    await restorable.corrupt(`INSERT INTO off_ramp_sessions SELECT (jsonb_populate_record(o, jsonb_build_object(
        'id', format('00000000-0000-7000-8000-%s', lpad(n::text, 12, '0')), 'settlement_address', 'C', 'provider_session_id', 'manual_' || n))).*
      FROM off_ramp_sessions o, generate_series(1, 40) n WHERE o.id = '${session.id}'`);
    const asked: string[] = [];
    const { findings, notProved } = await reconcileDeposits({
      ...platform.dependencies,
      network: {
        ...network,
        offRampDeposit: async (contract) => {
          asked.push(contract);
          if (contract !== own) throw new NetworkUnavailable('its answer is not understood');
          return null;
        },
      },
    });
    expect(findings.filter(({ message }) => message.includes(session.id))).toHaveLength(1);
    // The contract that does not answer is given up.
    expect(asked.filter((contract) => contract !== own).length).toBeLessThan(40);
    expect(notProved.at(-1)?.message).toMatch(/^\d+ deposits in settlement contract C were not compared/);
  });

  it('that the network lost is missing until an operator accepts it', async () => {
    const lost = async () => {
      const { findings } = await compare({ offRampDeposit: async () => null });
      return findings.map(({ message }) => message.split(': ').at(-1));
    };
    const missing = ['the settlement contract has no deposit of it'];
    await change(`state = 'REFUNDED', released_at = now(), ended_at = now(), due_at = NULL`);
    expect(await lost()).toEqual(missing);
    const review = (decision: string, { of = session.id, at = 'now()', seen = 'NONE' } = {}) =>
      restorable.corrupt(`INSERT INTO off_ramp_reviews
        (id, off_ramp_session_id, flagged_because, state_before, opened_at, closed_at, statuses_seen, decision, decided_by, reason, deposit_seen)
        VALUES (gen_random_uuid(), '${of}', 'tested', 'AWAITING_PAYOUT', ${at}, ${at}, 1, '${decision}', 'operator', 'tested', '${seen}')`);
    await review('REFUND');
    await review('ACCEPT', { seen: 'REFUNDED' });
    await review('ACCEPT', { of: randomUUID() });
    // Of the session when it was closed, before it was paid and its tokens were deposited and released.
    await review('ACCEPT', { at: `now() - interval '1 hour'` });
    expect(await lost()).toEqual(missing);
    await review('ACCEPT');
    expect(await lost()).toEqual([]);
  });

  it('is read again with its session where that has changed meanwhile, a few times at most', async () => {
    const found = await depositInUse(network, session.providerSessionId);
    let reads = 0;
    const read = async (meanwhile: (at: number) => Promise<unknown>) => {
      reads = 0;
      const offRampDeposit: LedgerNetwork['offRampDeposit'] = async () => {
        reads += 1;
        await meanwhile(reads);
        return found && { ...found, status: 'SETTLED' };
      };
      return (await compare({ offRampDeposit })).findings.length;
    };
    expect([await read(async () => {}), reads]).toEqual([1, 1]);
    const settle = `state = 'SETTLED', resolution = 'SETTLE', released_at = now(), ended_at = now(), due_at = NULL`;
    expect([await read(() => change(settle)), reads]).toEqual([0, 2]);
    await restorable.restore();
    const amount = (at: number) => change(`token_amount_kg = token_amount_kg + ${at}`);
    expect([await read(amount), reads]).toEqual([1, 3]);
  });
});

describe('a cash-out that ended otherwise than its provider says', () => {
  let restorable: Restorable;
  let id: string;
  beforeAll(async () => {
    ({ id } = await depositedCashOut(platform));
    await logAll(platform.dependencies.logs);
    restorable = await makeRestorable(database);
  });
  beforeEach(() =>
    restorable.corrupt(
      `UPDATE off_ramp_sessions SET state = 'REFUNDED', ended_at = now(), released_at = now(), due_at = NULL WHERE id = '${id}'`,
    ),
  );
  afterEach(() => restorable.restore());
  afterAll(() => restorable.close());

  function askedProvider(says: RampStatus) {
    const { ramp, db } = platform.dependencies;
    const findSessionByReference = async (reference: string) => {
      const found = await ramp.findSessionByReference(reference);
      return found && { ...found, status: says };
    };
    return reconcilePayouts({
      db,
      ramp: { name: ramp.name, findSessionByReference },
      offRampSessionIds: [id],
    });
  }

  /** @param says the provider's status; without it the provider is not asked, and the recorded one counts */
  async function compare(says?: RampStatus): Promise<string[]> {
    const { db } = platform.dependencies;
    const { findings } = says ? await askedProvider(says) : { findings: await findContradictions(db) };
    return findings.filter(({ invariant }) => invariant === 'I8').map(({ message }) => message);
  }

  const review = (decision: 'ACCEPT' | null, statusesSeen: number, because = 'tested') => {
    const decided =
      decision === null ? 'NULL, NULL, NULL, NULL' : `'${decision}', 'operator', 'tested', 'NONE'`;
    return restorable.corrupt(`INSERT INTO off_ramp_reviews
      (id, off_ramp_session_id, flagged_because, state_before, opened_at, closed_at, statuses_seen, decision, decided_by, reason, deposit_seen)
      VALUES (gen_random_uuid(), '${id}', '${because}', 'AWAITING_PAYOUT', now(), now(), ${statusesSeen}, ${decided})`);
  };
  const record = (status: RampStatus) =>
    restorable.corrupt(`INSERT INTO off_ramp_provider_statuses (off_ramp_session_id, number, status, observed_at)
        SELECT '${id}', count(*) + 1, '${status}', now() FROM off_ramp_provider_statuses WHERE off_ramp_session_id = '${id}';
      UPDATE off_ramp_sessions SET provider_status = '${status}' WHERE id = '${id}'`);

  it('is found, also after a review that a pause opened and its end closed', async () => {
    const found = [`off-ramp session ${id} is REFUNDED, and its provider says "settled"`];
    expect(await compare('settled')).toEqual(found);
    await review(null, 1);
    expect(await compare('settled')).toEqual(found);
    await record('settled');
    expect(await compare()).toEqual([expect.stringContaining('no operator has decided so')]);
  });

  it('is none once an operator has decided about what it said last', async () => {
    await record('settled');
    await review('ACCEPT', 9);
    expect(await compare()).toEqual([]);
    await record('failed');
    expect(await compare('settled')).toEqual([]);
  });

  it('may be of another amount only once an operator has decided about that amount', async () => {
    const { ramp, db } = platform.dependencies;
    const amounts = async () => {
      const findSessionByReference = async (reference: string) => {
        const found = await ramp.findSessionByReference(reference);
        return found && { ...found, fiat: { currency: 'KES', amount: '1.00' } };
      };
      const { findings } = await reconcilePayouts({
        db,
        ramp: { name: ramp.name, findSessionByReference },
        offRampSessionIds: [id],
      });
      return findings.map(({ message }) => message);
    };
    const [found = ''] = await amounts();
    const because = found.replace(`off-ramp session ${id}: `, '');
    await review(null, 1, because);
    expect(await amounts()).toEqual([found]);
    await review('ACCEPT', 1, because);
    expect(await amounts()).toEqual([]);
  });

  it('is not proved while an operator has not decided', async () => {
    await restorable.corrupt(`UPDATE off_ramp_sessions SET state = 'NEEDS_REVIEW', resolution = 'REFUND' WHERE id = '${id}';
      INSERT INTO off_ramp_reviews (id, off_ramp_session_id, flagged_because, state_before, opened_at)
      VALUES (gen_random_uuid(), '${id}', 'tested', 'REFUNDED', now())`);
    await record('settled');
    expect(await compare()).toEqual([]);
    const underReview = {
      invariant: 'I8',
      obstacle: 'UNDER_REVIEW',
      message: `off-ramp session ${id} is REFUNDED on the network, and its provider says "settled"`,
    };
    expect(await askedProvider('settled')).toMatchObject({ findings: [], notProved: [underReview] });
    expect(await askedProvider('failed')).toEqual({ findings: [], notProved: [] });
  });

  it('is found when it says so only since the operator decided', async () => {
    await review('ACCEPT', 9);
    expect(await compare('settled')).toHaveLength(1);
    await restorable.corrupt(
      `UPDATE off_ramp_reviews SET statuses_seen = 0 WHERE off_ramp_session_id = '${id}'`,
    );
    await record('settled');
    expect(await compare()).toHaveLength(1);
  });
});

describe('a provider that does not answer each question', () => {
  /** More than the twelve that it may leave unanswered, and the three others that are asked meanwhile. */
  const SESSIONS = 18;
  const ids: string[] = [];
  beforeAll(async () => {
    const receipt = await activeReceipt(platform);
    for (let count = 0; count < SESSIONS; count++) {
      ids.push((await depositedCashOut(platform, receipt, { tokenAmount: 1n })).id);
    }
  });

  /** @param failsAt the error of a request by its number, from 1 on; null for an answer */
  async function compareAll(failsAt: (request: number) => ErrorCode | null, freeInMs?: () => number) {
    const { ramp, db } = platform.dependencies;
    let requests = 0;
    const findSessionByReference = async (reference: string) => {
      const code = failsAt(++requests);
      if (code !== null) throw new DomainError(code, 'a test says so');
      return ramp.findSessionByReference(reference);
    };
    const asked = { name: ramp.name, findSessionByReference, ...(freeInMs ? { freeInMs } : {}) };
    const { findings, notProved } = await reconcilePayouts({ db, ramp: asked, offRampSessionIds: ids }, 1);
    expect(findings).toEqual([]);
    return { requests, notProved: notProved.map(({ obstacle, message }) => `${obstacle}: ${message}`) };
  }

  it('is asked again, and about the others', async () => {
    const failures = 4;
    const { requests, notProved } = await compareAll((request) =>
      request <= failures ? 'RAMP_UNAVAILABLE' : null,
    );
    expect([requests, notProved]).toEqual([SESSIONS + failures, []]);
  });

  it('is not asked for ever when it answers nothing', async () => {
    const { requests, notProved } = await compareAll(() => 'RAMP_UNAVAILABLE');
    expect(requests).toBeGreaterThanOrEqual(2 * 12);
    expect(requests).toBeLessThanOrEqual(2 * (12 + 3));
    expect(notProved).toEqual([`NO_ANSWER: of ${SESSIONS} payouts the provider "manual" gave no answer`]);
  });

  it('is left alone for as long as it wants', async () => {
    let isBusy = false;
    const { requests, notProved } = await compareAll(
      (request) => {
        if (request === SESSIONS - 1) isBusy = true;
        return isBusy ? 'RAMP_UNAVAILABLE' : null;
      },
      () => {
        const waitMs = isBusy ? 10 : 0;
        isBusy = false;
        return waitMs;
      },
    );
    expect([requests <= SESSIONS + 2, notProved]).toEqual([true, []]);
  });

  it('has answered when it refuses, finally', async () => {
    expect(await compareAll(() => 'RAMP_REFUSED')).toEqual({
      requests: SESSIONS,
      notProved: [`NO_DATA: of ${SESSIONS} payouts the provider "manual" refuses to answer`],
    });
  });
});
