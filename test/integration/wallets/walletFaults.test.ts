/**
 * Retirements signed by a holder, with faults: lost answers, unreachable networks, time that runs out. They
 * land at most once, and are never signed again by the platform.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Tx } from '../../../src/db/connection.ts';
import { attempts } from '../../../src/db/tables/index.ts';
import type { HolderCall, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { addReplacement, enqueueSigned } from '../../../src/ledger/submission/signedByHolder.ts';
import { findHolderAct } from '../../../src/resolvers/wallets/findHolderAct.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { prepareRetirement } from '../../../src/resolvers/wallets/prepareRetirement.ts';
import { submitSigned } from '../../../src/resolvers/wallets/submitSigned.ts';
import {
  createEmbeddedHolder,
  startEmbeddedWallets,
  type EmbeddedWallets,
} from '../../support/wallets/embeddedWallets.ts';
import type { FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { openProject } from '../../../devnet/platform.ts';
import { retirementInput } from '../../support/wallets/walletRetirements.ts';
import {
  attemptsOfSubmission,
  CALLER,
  EVENTUALLY,
  sendPastUs,
  stateOfAct,
} from '../../support/wallets/walletWorld.ts';

let world: EmbeddedWallets;
let network: EmbeddedWallets['network'];
let platform: EmbeddedWallets['platform'];
let project: TokenizedProject;
let faults: FaultPlan = () => null;
const holder = createEmbeddedHolder();

beforeAll(async () => {
  world = await startEmbeddedWallets((...call) => faults(...call));
  ({ network, platform } = world);
  project = await openProject(platform, 1000n);
  await world.giveCredits(project.tokenAddress, holder.address, 100n);
});
afterEach(() => {
  faults = () => null;
  platform.dependencies.clock = systemClock;
});
afterAll(async () => {
  const { findings } = await reconcileAll(platform.dependencies);
  await world.stop();
  // The holder's credits did not go through the books.
  expect(findings.filter(({ invariant }) => invariant !== 'I2')).toEqual([]);
});

const prepare = () =>
  prepareRetirement(platform.dependencies, CALLER, retirementInput(project.tokenAddress, holder));
const impatient = () => ({ ...platform.dependencies, mutationWaitMs: 200 });
const recordCount = async () => (await network.carbonTotals(project.tokenAddress)).totalRetirements;

const attemptsOf = (submissionId: string | undefined) => attemptsOfSubmission(platform, submissionId);
const stateOf = (actId: string) => stateOfAct(platform, actId);

describe('a signed retirement', () => {
  it('is committed before it is sent, and sent by the next instance after a crash', async () => {
    const before = await recordCount();
    const act = await prepare();
    // The process that accepted the transaction never sends it.
    const dead = {
      ...platform.dependencies,
      mutationWaitMs: 0,
      submission: {
        ...platform.dependencies.submission,
        crashPoint: async () => {
          throw new Error('killed');
        },
      },
    };
    const killed = submitSigned(dead, act, await holder.sign(act.unsigned));
    await expect(killed).rejects.toThrow('killed');
    const submission = (await findHolderAct(platform.dependencies, act.id))?.submission;
    expect(submission).toMatchObject({ signer: 'HOLDER', kind: 'retire', targetId: act.id });
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
      code: 'LEDGER_REFUSED',
      details: { reason: 'EXPIRED', holderActId: act.id },
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
    await expect(tooLate).rejects.toMatchObject({ code: 'LEDGER_REFUSED', details: { reason: 'EXPIRED' } });
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
      code: 'LEDGER_REFUSED',
      details: { reason: 'INSUFFICIENT_BALANCE' },
    });
    expect(await stateOf(second.id)).toBe('REFUSED');
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

  /** Rolls the transaction back, because these signed transactions belong to no network. */
  async function within(work: (tx: Tx) => Promise<void>) {
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
      const id = await enqueueSigned(
        tx,
        deps,
        { targetType: 'HOLDER_ACT', targetId: randomUUID(), call },
        first,
      );
      const second = signed('W1', 5n);
      await addReplacement(tx, deps, id, second);
      await addReplacement(tx, deps, id, second);
      const rows = await tx
        .select()
        .from(attempts)
        .where(eq(attempts.submissionId, id))
        .orderBy(attempts.number);
      expect(rows.map(({ hash, replaces }) => [hash, replaces])).toEqual([
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
      const act = { targetType: 'HOLDER_ACT', targetId: randomUUID(), call } as const;
      const id = await enqueueSigned(tx, deps, act, signed('W3', 5n));
      await addReplacement(tx, deps, id, first);
      // A wallet that has signed these contents must not be told to sign them again.
      const refusals = [
        [first, 'do it twice'],
        [signed('W3', 5n), 'sign with the next one'],
      ] as const;
      for (const [other, advice] of refusals) {
        const target = { targetType: 'HOLDER_ACT', targetId: randomUUID(), call } as const;
        await expect(enqueueSigned(tx, deps, target, other)).rejects.toMatchObject({
          code: 'CONFLICT',
          message: expect.stringContaining(advice) as string,
        });
      }
      await enqueueSigned(
        tx,
        deps,
        { targetType: 'HOLDER_ACT', targetId: randomUUID(), call },
        signed('W3', 6n),
      );
    });
  });
});
