/**
 * What a holder signed, with faults: lost answers, networks that can't be reached, time that runs out. Whatever
 * happens it lands once at most, and is never signed again here.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import { systemClock } from '../../src/clock.ts';
import type { Platform } from '../../src/compose.ts';
import { attempts, cashOutSessions, holderActs, submissions } from '../../src/db/schema/index.ts';
import type { EmbeddedNetwork } from '../../src/ledger/network/embedded/embeddedNetwork.ts';
import type { HolderCall, PreparedTransaction } from '../../src/ledger/network/port.ts';
import { addReplacement, enqueueSigned } from '../../src/ledger/submission/signedByHolder.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { findCashOut, readReviews } from '../../src/resolvers/findCashOut.ts';
import { findHolderAct } from '../../src/resolvers/findHolderAct.ts';
import type { TokenizedProject } from '../../src/resolvers/findProject.ts';
import type { TokenizedReceipt } from '../../src/resolvers/findReceipt.ts';
import { prepareCashOutDeposit } from '../../src/resolvers/prepareCashOutDeposit.ts';
import { prepareRetirement } from '../../src/resolvers/prepareRetirement.ts';
import { resolveSessionReview } from '../../src/resolvers/resolveSessionReview.ts';
import { lateDepositLookMs } from '../../src/resolvers/stepHolderCashOut.ts';
import { submitSigned } from '../../src/resolvers/submitSigned.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { createEmbeddedHolder, type EmbeddedHolder } from '../harness/embeddedHolder.ts';
import { withFaults, type FaultPlan } from '../harness/faultyNetwork.ts';
import { embeddedNetworkOn, openProject, platformOn } from '../harness/platform.ts';
import {
  CALLER,
  EVENTUALLY,
  depositInputOf,
  letSigningTimePass,
  prepareDeposit,
  retirementInput,
  sendPastUs,
  type WalletWorld,
} from '../harness/walletSuite.ts';
import { activeReceipt, farmer, providerSays, reaches } from '../harness/warehouse.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let world: WalletWorld;
let project: TokenizedProject;
let receipt: TokenizedReceipt;
let holder: EmbeddedHolder;
let faults: FaultPlan = () => null;

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 20 });
  network = await embeddedNetworkOn(database.handle);
  platform = await platformOn(
    database.handle,
    withFaults(network, (...call) => faults(...call)),
  );
  await platform.start();
  holder = createEmbeddedHolder();
  world = {
    platform,
    network,
    createHolder: async () => createEmbeddedHolder(),
    giveCredits: async (token, to, tonnes) => void (await network.transfer(token, to, toBaseUnits(tonnes))),
    advanceClock: async (seconds) => void (await network.advanceClock(seconds)),
    stop: async () => {},
  };
  project = await openProject(platform, 1000n);
  await world.giveCredits(project.tokenAddress, holder.address, 100n);
  receipt = await activeReceipt(platform, { farmerAddress: holder.address, quantityKg: 50_000n });
});
afterEach(() => {
  faults = () => null;
  platform.dependencies.clock = systemClock;
});
afterAll(async () => {
  const { findings } = await audit(platform.dependencies);
  await platform.stop();
  await database.drop();
  // The holder's credits came past the books.
  expect(findings.filter(({ invariant }) => invariant !== 'I2')).toEqual([]);
});

const prepare = () =>
  prepareRetirement(platform.dependencies, CALLER, retirementInput(project.tokenAddress, holder));
const prepareToDeposit = () => prepareDeposit(world, holder, depositInputOf(receipt, holder));
const impatient = () => ({ ...platform.dependencies, mutationWaitMs: 200 });
const recordCount = async () => (await network.carbonTotals(project.tokenAddress)).totalRetirements;

async function attemptsOf(submissionId: string | undefined) {
  return platform.dependencies.db
    .select()
    .from(attempts)
    .where(eq(attempts.submissionId, submissionId ?? ''));
}

async function stateOf(actId: string) {
  return (await findHolderAct(platform.dependencies, actId))?.state;
}

describe('a signed retirement', () => {
  it('is committed before it is sent, and sent by whoever comes after a crash', async () => {
    const before = await recordCount();
    const act = await prepare();
    // The process that took it never gets to send it.
    const dead = {
      ...platform.dependencies,
      mutationWaitMs: 0,
      submission: {
        ...platform.dependencies.submission,
        checkpoint: async () => {
          throw new Error('killed');
        },
      },
    };
    const killed = submitSigned(dead, act, await holder.sign(act.unsigned));
    await expect(killed).rejects.toThrow('killed');
    const submission = (await findHolderAct(platform.dependencies, act.id))?.submission;
    expect(submission).toMatchObject({ signer: 'HOLDER', kind: 'retire', subjectId: act.id });
    await expect.poll(() => stateOf(act.id), EVENTUALLY).toBe('LANDED');
    expect(await attemptsOf(submission?.id)).toMatchObject([{ number: 1, state: 'LANDED' }]);
    expect(await recordCount()).toBe(before + 1);
  });

  it('lands once when answers are lost', async () => {
    const before = await recordCount();
    let lost = 0;
    faults = (method) => (method === 'broadcast' && lost++ < 2 ? 'answer-lost' : null);
    const act = await prepare();
    await submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
    expect(lost).toBeGreaterThan(0);
    expect(await recordCount()).toBe(before + 1);
  });

  it('is EXPIRED when its time runs out before it could be sent, and is not signed again', async () => {
    const before = await recordCount();
    faults = (method) => (method === 'broadcast' ? 'unreachable' : null);
    const act = await prepare();
    const signed = await holder.sign(act.unsigned);
    expect(await submitSigned(impatient(), act, signed)).toMatchObject({ state: 'SUBMITTED' });
    await network.advanceClock(3600);
    await expect.poll(() => stateOf(act.id), EVENTUALLY).toBe('EXPIRED');
    faults = () => null;
    // The same bytes get the same answer.
    const current = await findHolderAct(platform.dependencies, act.id);
    await expect(submitSigned(platform.dependencies, current ?? act, signed)).rejects.toMatchObject({
      code: 'LEDGER_REJECTED',
      details: { reason: 'EXPIRED', actId: act.id },
    });
    expect(await attemptsOf(current?.submission?.id)).toMatchObject([{ state: 'DEAD' }]);
    expect(await recordCount()).toBe(before);
  });

  it('comes back too late, and is refused; or was sent by the wallet in time, and has landed', async () => {
    const before = await recordCount();
    const [late, sent] = [await prepare(), await prepare()];
    await sendPastUs(world, holder, sent);
    await network.advanceClock(3600);
    const tooLate = submitSigned(platform.dependencies, late, await holder.sign(late.unsigned));
    await expect(tooLate).rejects.toMatchObject({ code: 'LEDGER_REJECTED', details: { reason: 'EXPIRED' } });
    expect(await findHolderAct(platform.dependencies, late.id)).toMatchObject({ state: 'PREPARED' });
    const landed = await submitSigned(platform.dependencies, sent, await holder.sign(sent.unsigned));
    expect(landed).toMatchObject({ state: 'LANDED', recordIndex: before });
    expect(await recordCount()).toBe(before + 1);
  });

  it('is REFUSED by the contract when the holder has spent the credits meanwhile', async () => {
    const poor = createEmbeddedHolder();
    await world.giveCredits(project.tokenAddress, poor.address, 5n);
    const ask = () =>
      prepareRetirement(platform.dependencies, CALLER, retirementInput(project.tokenAddress, poor));
    const [first, second] = [await ask(), await ask()];
    await submitSigned(platform.dependencies, first, await poor.sign(first.unsigned));
    const refused = submitSigned(platform.dependencies, second, await poor.sign(second.unsigned));
    await expect(refused).rejects.toMatchObject({
      code: 'LEDGER_REJECTED',
      details: { reason: 'INSUFFICIENT_BALANCE' },
    });
    expect(await stateOf(second.id)).toBe('REFUSED');
  });
});

describe('a signed deposit', () => {
  it('that died leaves the session waiting for another signature', async () => {
    faults = (method) => (method === 'broadcast' ? 'unreachable' : null);
    const input = depositInputOf(receipt, holder);
    const { session, act } = await prepareDeposit(world, holder, input);
    await submitSigned(impatient(), act, await holder.sign(act.unsigned));
    expect(await findCashOut(platform.dependencies, session.id)).toMatchObject({ state: 'DEPOSITING' });
    await network.advanceClock(3600);
    const waiting = await reaches(platform, session.id, 'AWAITING_SIGNATURE');
    expect(waiting.refusalMessage).toContain('prepare it anew');
    faults = () => null;
    const anew = await prepareDeposit(world, holder, input);
    expect(anew.session.id).toBe(session.id);
    expect(anew.act.id).not.toBe(act.id);
    await submitSigned(platform.dependencies, anew.act, await holder.sign(anew.act.unsigned));
    const reached = await reaches(platform, session.id, 'AWAITING_PAYOUT');
    expect(reached.refusalMessage).toBeNull();
    await providerSays(platform, session.providerSessionId ?? '', 'failed');
    await reaches(platform, session.id, 'REFUNDED');
  });

  it('that the wallet sent as well is deposited once', async () => {
    const { session, act } = await prepareToDeposit();
    const signed = await holder.sign(act.unsigned);
    await Promise.allSettled([
      sendPastUs(world, holder, act),
      submitSigned(platform.dependencies, act, signed),
      submitSigned(platform.dependencies, act, signed),
    ]);
    await reaches(platform, session.id, 'AWAITING_PAYOUT');
    await providerSays(platform, session.providerSessionId ?? '', 'settled');
    const settled = await reaches(platform, session.id, 'SETTLED');
    const { submission } = (await findHolderAct(platform.dependencies, act.id)) ?? {};
    expect(settled.depositTxHash).toBe(submission?.txHash);
    expect(await attemptsOf(submission?.id)).toMatchObject([{ state: 'LANDED' }]);
  });

  it('of two for one session lands once, and the other is not even sent', async () => {
    const input = depositInputOf(receipt, holder);
    const first = await prepareDeposit(world, holder, input);
    platform.dependencies.clock = { now: () => new Date(Date.now() + 120_000) };
    const second = await prepareDeposit(world, holder, input);
    expect(second.act.id).not.toBe(first.act.id);
    const signed = await Promise.all([first, second].map(({ act }) => holder.sign(act.unsigned)));
    const results = await Promise.allSettled([
      submitSigned(platform.dependencies, first.act, signed[0] ?? ''),
      submitSigned(platform.dependencies, second.act, signed[1] ?? ''),
    ]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const [rejected] = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as Error] : [],
    );
    expect(rejected).toMatchObject({ code: 'CONFLICT' });
    await reaches(platform, first.session.id, 'AWAITING_PAYOUT');
  });

  it('waits no longer for what may never land, and gives it back when it does', async () => {
    const before = await network.balanceOf(receipt.tokenAddress, holder.address);
    faults = (method) => (method === 'broadcast' ? 'unreachable' : null);
    const { session, act } = await prepareToDeposit();
    const signed = await holder.sign(act.unsigned);
    const pending = await submitSigned(impatient(), act, signed);
    // As on a network where nothing expires.
    await database.handle.sql`ALTER TABLE holder_acts DISABLE TRIGGER holder_acts_rules`;
    await platform.dependencies.db
      .update(holderActs)
      .set({ validUntil: null })
      .where(eq(holderActs.id, act.id));
    await database.handle.sql`ALTER TABLE holder_acts ENABLE TRIGGER holder_acts_rules`;
    letSigningTimePass(world);
    await lookNow(session.id);
    await reaches(platform, session.id, 'REFUSED');
    expect(pending.state).toBe('SUBMITTED');
    faults = () => null;
    const refunded = await reaches(platform, session.id, 'REFUNDED');
    expect(refunded).toMatchObject({ resolution: 'REFUND', depositTxHash: expect.any(String) as string });
    expect(await stateOf(act.id)).toBe('LANDED');
    expect(await network.balanceOf(receipt.tokenAddress, holder.address)).toBe(before);
  });

  it('can not be told: an operator decides, and custody never deposits in its place', async () => {
    faults = (method) => (method === 'outcome' ? 'history-gone' : null);
    const { session, act } = await prepareToDeposit();
    await submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    expect(await stateOf(act.id)).toBe('NEEDS_REVIEW');
    faults = () => null;
    const decision = { cashOutId: session.id, decision: 'RETRY', note: 'the history is back' } as const;
    await resolveSessionReview(platform.dependencies, 'operator', decision);
    await reaches(platform, session.id, 'AWAITING_PAYOUT');
    const insert = database.handle
      .sql`INSERT INTO submissions (id, kind, subject_id, call, state, due_at, created_at)
      VALUES (${randomUUID()}, 'initiateOffRamp', ${session.id}, '{}', 'REFUSED', now(), now())`;
    await expect(insert).rejects.toThrow('is not to be signed by CUSTODY');
  });
});

describe('a session that waits for a signature', () => {
  it('is closed when someone else uses up its reference, who gets back what is of the receipt', async () => {
    const stranger = createEmbeddedHolder();
    const { session } = await prepareToDeposit();
    await network.createSigner(holder.secretKey).transfer({
      tokenAddress: receipt.tokenAddress,
      to: stranger.address,
      amount: toBaseUnits(7n),
    });
    const call = {
      kind: 'initiateOffRamp',
      sessionId: session.providerSessionId ?? '',
      tokenAddress: receipt.tokenAddress,
      amount: toBaseUnits(7n),
    } as const;
    const unsigned = await network.prepareForHolder(call, stranger.address);
    const opened = await network.openSigned(call, unsigned, await stranger.sign(unsigned));
    await network.broadcast(opened.signedBytes);
    await reaches(platform, session.id, 'REFUNDED');
    expect(await network.balanceOf(receipt.tokenAddress, stranger.address)).toBe(toBaseUnits(7n));
  });

  it('is not closed while what was given out can still land by the network’s clock', async () => {
    const { session, act } = await prepareToDeposit();
    letSigningTimePass(world);
    await lookNow(session.id);
    await expect.poll(() => looksAt(session.id), EVENTUALLY).toBeGreaterThan(0);
    expect(await findCashOut(platform.dependencies, session.id)).toMatchObject({
      state: 'AWAITING_SIGNATURE',
    });
    await sendPastUs(world, holder, act);
    await reaches(platform, session.id, 'AWAITING_PAYOUT');
  });

  it('that is paid, deposited late and not failed goes to an operator', async () => {
    const { session, act } = await prepareToDeposit();
    const sessionId = session.providerSessionId ?? '';
    await providerSays(platform, sessionId, 'failed');
    await reaches(platform, session.id, 'REFUSED');
    await providerSays(platform, sessionId, 'settled');
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    const accept = { cashOutId: session.id, decision: 'ACCEPT', note: 'their mistake' } as const;
    await resolveSessionReview(platform.dependencies, 'operator', accept);
    await sendPastUs(world, holder, act);
    await lookNow(session.id);
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    const reviews = await readReviews(platform.dependencies, session.id);
    expect(reviews.at(-1)?.reason).toContain('deposited after it was closed');
    const confirm = { cashOutId: session.id, decision: 'CONFIRM', note: 'it is here after all' } as const;
    await resolveSessionReview(platform.dependencies, 'operator', confirm);
    await reaches(platform, session.id, 'SETTLED');
  });

  it('is one of twenty of its holder at most', async () => {
    const collector = createEmbeddedHolder();
    const own = await activeReceipt(platform, { farmerAddress: collector.address });
    const ask = () =>
      prepareCashOutDeposit(
        platform.dependencies,
        farmer,
        depositInputOf(own, collector, { tokenAmount: 1n }),
      );
    for (let i = 0; i < 20; i++) await ask();
    await expect(ask()).rejects.toMatchObject({ code: 'CONFLICT', details: { field: 'input.holder' } });
  });

  it('is looked at for a late deposit at ever longer intervals, for a year', () => {
    const day = 24 * 3600_000;
    expect(lateDepositLookMs(0)).toBe(60_000);
    expect(lateDepositLookMs(day)).toBe(day / 10);
    expect(lateDepositLookMs(100 * day)).toBe(7 * day);
    expect(lateDepositLookMs(366 * day)).toBeNull();
  });
});

describe('a wallet’s fee replacement', () => {
  const call = {
    kind: 'retire',
    tokenAddress: 'T',
    amount: 1n,
    beneficiary: 'b',
    note: '',
  } satisfies HolderCall;
  const signed = (source: string, sequence: bigint | null): PreparedTransaction => ({
    hash: `0x${randomBytes(32).toString('hex')}`,
    signedBytes: randomBytes(8),
    source,
    sequence,
    validUntil: null,
    preparedAtLedger: 1n,
  });
  const deps = { clock: systemClock, ids: { next: () => randomUUID() } };

  /** Rolled back: what is signed here is of no network. */
  async function within(
    work: (tx: Parameters<Parameters<typeof platform.dependencies.db.transaction>[0]>[0]) => Promise<void>,
  ) {
    const rolledBack = new Error('rolled back');
    const done = platform.dependencies.db.transaction(async (tx) => {
      await work(tx);
      throw rolledBack;
    });
    await expect(done).rejects.toBe(rolledBack);
  }

  it('is another attempt in the same slot, and nothing else is', async () => {
    await within(async (tx) => {
      const first = signed('W1', 5n);
      const id = await enqueueSigned(tx, deps, { subjectId: randomUUID(), call }, first);
      const second = signed('W1', 5n);
      await addReplacement(tx, deps, id, second);
      await addReplacement(tx, deps, id, second);
      const rows = await tx
        .select()
        .from(attempts)
        .where(eq(attempts.submissionId, id))
        .orderBy(attempts.number);
      expect(rows.map(({ hash, outbids }) => [hash, outbids])).toEqual([
        [first.hash, null],
        [second.hash, first.hash],
      ]);
      for (const other of [signed('W1', 6n), signed('W2', 5n), signed('W1', null)]) {
        await expect(addReplacement(tx, deps, id, other)).rejects.toMatchObject({ code: 'CONFLICT' });
      }
      for (let i = 2; i <= 10; i++) await addReplacement(tx, deps, id, signed('W1', 5n));
      await expect(addReplacement(tx, deps, id, signed('W1', 5n))).rejects.toMatchObject({
        code: 'CONFLICT',
      });
    });
  });

  it('does not take the slot, or the bytes, of another act', async () => {
    await within(async (tx) => {
      const first = signed('W3', 5n);
      await enqueueSigned(tx, deps, { subjectId: randomUUID(), call }, first);
      for (const other of [first, signed('W3', 5n)]) {
        const again = enqueueSigned(tx, deps, { subjectId: randomUUID(), call }, other);
        await expect(again).rejects.toMatchObject({ code: 'CONFLICT' });
      }
      await enqueueSigned(tx, deps, { subjectId: randomUUID(), call }, signed('W3', 6n));
    });
  });
});

describe('the database', () => {
  it('lets nothing be changed that was given out to be signed, nor who deposits', async () => {
    const { session, act } = await prepareToDeposit();
    const { sql: raw } = database.handle;
    const rejected = (query: Promise<unknown>, message: string) => expect(query).rejects.toThrow(message);
    await rejected(raw`UPDATE holder_acts SET payload = 'x' WHERE id = ${act.id}`, 'fixed');
    await rejected(raw`DELETE FROM holder_acts WHERE id = ${act.id}`, 'append-only');
    await rejected(
      raw`UPDATE cash_out_sessions SET sign_until = NULL WHERE id = ${session.id}`,
      'who deposits',
    );
    await submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
    const [submission] = await platform.dependencies.db
      .select()
      .from(submissions)
      .where(eq(submissions.subjectId, session.id));
    expect(submission).toMatchObject({ signer: 'HOLDER' });
    await rejected(raw`UPDATE holder_acts SET submission_id = NULL WHERE id = ${act.id}`, 'set once');
  });
});

async function lookNow(sessionId: string): Promise<void> {
  await platform.dependencies.db
    .update(cashOutSessions)
    .set({ dueAt: sql`now()`, fruitlessSteps: 0 })
    .where(eq(cashOutSessions.id, sessionId));
}

async function looksAt(sessionId: string): Promise<number> {
  return (await findCashOut(platform.dependencies, sessionId))?.fruitlessSteps ?? 0;
}
