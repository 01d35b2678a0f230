/**
 * Many cash-outs by signature at once, with random faults: wallets that send on their own, twice, late or
 * never; providers that pay or fail at the wrong time; a network that loses calls and answers. In the end
 * each is in the state that its deposit and its provider imply, or with an operator, and no kilogram is lost.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { hasEnded } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import {
  findOffRampSession,
  type OffRampSession,
  type OffRampState,
} from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import type { HolderAct } from '../../../src/resolvers/wallets/findHolderAct.ts';
import { submitSigned } from '../../../src/resolvers/wallets/submitSigned.ts';
import {
  createEmbeddedHolder,
  startEmbeddedWallets,
  type EmbeddedWallets,
} from '../../support/wallets/embeddedWallets.ts';
import type { Fault, FaultyMethod } from '../../support/faults/faultyNetwork.ts';
import { depositInputOf, letSigningTimePass, prepareDeposit } from '../../support/wallets/walletCashOuts.ts';
import { EVENTUALLY } from '../../support/wallets/walletWorld.ts';
import { activeReceipt, makeDue, providerSays } from '../../support/warehouse.ts';
import { readProviderStatuses } from '../../support/histories.ts';
import { depositInUse } from '../../support/depositInUse.ts';

const SESSIONS = 16;
const KILOGRAMS = 10n;
/** The network's status of the deposit of an ended session; null without a deposit. */
const ON_NETWORK: Partial<Record<OffRampState, string | null>> = {
  SETTLED: 'SETTLED',
  REFUNDED: 'REFUNDED',
  CLOSED: null,
};
/** Busy machines are slow, and lost calls are tried again. */
const RUN_TIMEOUT_MS = 180_000;

const plan = fc.record({
  /** Executed in this order. */
  steps: fc.array(fc.constantFrom('submit', 'send', 'settled', 'failed', 'wait'), { maxLength: 4 }),
});
const faultyCalls = fc.array(fc.constantFrom<Fault | null>('unreachable', 'answer-lost', null, null, null), {
  minLength: 40,
  maxLength: 40,
});
const FAULTY: ReadonlySet<FaultyMethod> = new Set(['broadcast', 'outcome', 'offRampDeposit', 'status']);

let world: EmbeddedWallets;
let lost: readonly (Fault | null)[] = [];
let calls = 0;
beforeAll(async () => {
  world = await startEmbeddedWallets((method) =>
    FAULTY.has(method) && lost.length > 0 ? (lost[calls++ % lost.length] ?? null) : null,
  );
});
afterAll(() => world.stop());

async function carryOut(steps: readonly string[], session: OffRampSession, act: HolderAct, signed: string) {
  const { platform, network } = world;
  const impatient = { ...platform.dependencies, mutationWaitMs: 100 };
  for (const step of steps) {
    if (step === 'submit') await submitSigned(impatient, act, signed);
    else if (step === 'send') {
      const { signedBytes } = await network.openSigned(act.call, act.unsigned, signed);
      await network.broadcast(signedBytes);
    } else if (step === 'wait') await new Promise((resolve) => setTimeout(resolve, 300));
    else await providerSays(platform, session.providerSessionId ?? '', step as 'settled' | 'failed');
  }
}

/** Fails all payouts that the provider has not decided, and lets enough time pass for waiting sessions. */
async function letAllEnd(sessions: readonly OffRampSession[]): Promise<OffRampSession[]> {
  const { platform, network } = world;
  lost = [];
  await letSigningTimePass(world);
  await network.advanceClock(3600);
  const now = async ({ id }: OffRampSession) =>
    (await findOffRampSession(platform.dependencies, id)) as OffRampSession;
  const isAtRest = (current: OffRampSession) => hasEnded(current) || current.state === 'NEEDS_REVIEW';
  const saidOf = async ({ providerSessionId }: OffRampSession) =>
    (await platform.dependencies.ramp.getStatus(providerSessionId ?? '')).status;
  for (const session of sessions) {
    await expect
      .poll(async () => {
        const current = await now(session);
        if (current.state === 'AWAITING_PAYOUT' && current.providerStatus === 'pending') {
          await providerSays(platform, current.providerSessionId ?? '', 'failed');
        }
        // Makes the session due now: its next look at a late deposit or status would come much later.
        const isUnnoticed =
          (current.depositedAt === null && (await isHeld(current))) ||
          (hasEnded(current) && current.providerStatus !== (await saidOf(current)));
        if (isUnnoticed) await lookNow(current);
        return isAtRest(current) && !isUnnoticed;
      }, EVENTUALLY)
      .toBe(true);
  }
  return Promise.all(sessions.map(now));
}

const statusOf = async ({ providerSessionId }: OffRampSession) =>
  (await depositInUse(world.network, providerSessionId))?.status ?? null;
const isHeld = async (session: OffRampSession) => (await statusOf(session)) === 'PENDING';

const lookNow = ({ id }: OffRampSession) => makeDue(world.platform, id);

it(
  'ends where the deposit and the provider say, or with an operator, and loses nothing',
  { timeout: 3 * RUN_TIMEOUT_MS },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(plan, { minLength: SESSIONS, maxLength: SESSIONS }),
        faultyCalls,
        async (plans, faults) => {
          const { platform, network } = world;
          const holder = createEmbeddedHolder();
          const total = KILOGRAMS * BigInt(SESSIONS);
          const receipt = await activeReceipt(platform, { farmerAddress: holder.address, quantityKg: total });
          const input = () => depositInputOf(receipt, holder, { tokenAmount: KILOGRAMS });
          const prepared = await Promise.all(plans.map(() => prepareDeposit(world, holder, input())));
          lost = faults;
          await Promise.allSettled(
            prepared.map(async ({ session, act }, i) =>
              carryOut(plans[i]?.steps ?? [], session, act, await holder.sign(act.unsigned)),
            ),
          );
          const ended = await letAllEnd(prepared.map(({ session }) => session));

          let held = 0n;
          for (const session of ended) {
            const status = await statusOf(session);
            if (session.state === 'NEEDS_REVIEW') {
              // The provider may have taken it back since.
              const said = await readProviderStatuses(platform.dependencies, session.id);
              expect(said.map((seen) => seen.status)).toContain('settled');
            } else expect([session.state, status]).toEqual([session.state, ON_NETWORK[session.state]]);
            if (session.state === 'SETTLED') expect(session.providerStatus).toBe('settled');
            if (status === 'SETTLED' || status === 'PENDING') held += KILOGRAMS;
          }
          expect(await network.balanceOf(receipt.tokenAddress, holder.address)).toBe(
            toBaseUnits(total - held),
          );
          expect((await reconcileAll(platform.dependencies)).findings).toEqual([]);
        },
      ),
      {
        numRuns: 3,
        endOnFailure: true,
        ...(process.env['FUZZ_SEED'] ? { seed: Number(process.env['FUZZ_SEED']) } : {}),
      },
    );
  },
);
