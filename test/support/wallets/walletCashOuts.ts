/**
 * Cash-outs by holders who have their own wallet.
 */
import { isNotNull, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { offRampSessions } from '../../../src/db/tables/index.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { readHolderActs, type HolderAct } from '../../../src/resolvers/wallets/findHolderAct.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import {
  prepareCashOutDeposit,
  type PreparedCashOut,
  type PrepareCashOutDepositInput,
} from '../../../src/resolvers/wallets/prepareCashOutDeposit.ts';
import type { OffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { submitSigned } from '../../../src/resolvers/wallets/submitSigned.ts';
import {
  activeReceipt,
  cashOutInput,
  decideSession,
  farmer,
  makeDue,
  providerSays,
  reaches,
} from '../warehouse.ts';
import { createEmbeddedHolder, type EmbeddedWallets } from './embeddedWallets.ts';
import { sendPastUs, signAndSubmit, type InWorld, type WalletWorld } from './walletWorld.ts';
import type { Holder } from '../../../devnet/world.ts';
import { depositInUse } from '../depositInUse.ts';

export function depositInputOf(
  receipt: TokenizedReceipt,
  holder: Holder,
  overrides: Partial<PrepareCashOutDepositInput> = {},
): PrepareCashOutDepositInput {
  return { ...cashOutInput(receipt), holder: holder.address, ...overrides };
}

/** Prepares a deposit. If the network needs an allowance, signs that first. */
export async function prepareDeposit(
  world: Pick<WalletWorld, 'network'> & { platform: Pick<Platform, 'dependencies'> },
  holder: Holder,
  input: PrepareCashOutDepositInput,
): Promise<PreparedCashOut & { act: HolderAct }> {
  const { dependencies } = world.platform;
  const prepared = await prepareCashOutDeposit(dependencies, farmer, input);
  if (prepared.act === null) throw new Error(`nothing to sign: the cash-out is ${prepared.session.state}`);
  if (prepared.act.kind !== 'setAllowance') return { ...prepared, act: prepared.act };
  expect(world.network.depositsNeedAllowance).toBe(true);
  expect(prepared.act.call.amount).toBe(toBaseUnits(input.tokenAmount));
  expect(await signAndSubmit(world, holder, prepared.act)).toMatchObject({ state: 'LANDED' });
  return prepareDeposit(world, holder, input);
}

/** Moves the signature deadlines of all sessions into the past; the next look closes each session. */
export async function letSigningTimePass({ platform }: WalletWorld): Promise<void> {
  await platform.dependencies.db
    .update(offRampSessions)
    .set({ signatureDueAt: sql`now() - interval '105 minutes'` })
    .where(isNotNull(offRampSessions.signatureDueAt));
}

/** A stranger deposits 7 kg of the holder's under the session's reference. @returns the stranger's address */
export async function useReference(
  { network }: Pick<EmbeddedWallets, 'network'>,
  { secretKey }: Pick<ReturnType<typeof createEmbeddedHolder>, 'secretKey'>,
  { tokenAddress }: TokenizedReceipt,
  { providerSessionId }: Pick<OffRampSession, 'providerSessionId'>,
): Promise<string> {
  const stranger = createEmbeddedHolder();
  const amount = toBaseUnits(7n);
  await network.createSigner(secretKey).transfer({ tokenAddress, to: stranger.address, amount });
  const sessionId = providerSessionId ?? '';
  const call = { kind: 'depositOffRamp', sessionId, tokenAddress, amount } as const;
  const unsigned = await network.prepareForHolder(call, stranger.address);
  const opened = await network.openSigned(call, unsigned, await stranger.sign(unsigned));
  await network.broadcast(opened.signedBytes);
  return stranger.address;
}

export function describeWalletCashOuts(inWorld: InWorld): void {
  describe('cash-outs', () => {
    let holder: Holder;
    let receipt: TokenizedReceipt;
    beforeAll(async () => {
      const { platform, createHolder } = inWorld();
      holder = await createHolder();
      receipt = await activeReceipt(platform, { farmerAddress: holder.address, quantityKg: 5000n });
    });
    afterAll(async () => {
      const { findings } = await reconcileAll(inWorld().platform.dependencies);
      expect(findings.filter(({ invariant }) => invariant !== 'I2')).toEqual([]);
    });

    const balance = () => inWorld().network.balanceOf(receipt.tokenAddress, holder.address);
    const prepare = (overrides: Partial<PrepareCashOutDepositInput> = {}) =>
      prepareDeposit(inWorld(), holder, depositInputOf(receipt, holder, overrides));
    const providerStatus = async (sessionId: string | null) =>
      (await inWorld().platform.dependencies.ramp.getStatus(sessionId ?? '')).status;
    const statusOnNetwork = async (sessionId: string | null) =>
      (await depositInUse(inWorld().network, sessionId))?.status;

    async function deposited() {
      const { session, act } = await prepare();
      expect(session).toMatchObject({ state: 'AWAITING_SIGNATURE', depositorAddress: holder.address });
      expect(await signAndSubmit(inWorld(), holder, act)).toMatchObject({ state: 'LANDED' });
      const reached = await reaches(inWorld().platform, session.id, 'AWAITING_PAYOUT');
      return { ...reached, providerSessionId: reached.providerSessionId ?? '' };
    }

    it('deposit from the holder’s own address, and settle', async () => {
      const { platform, network } = inWorld();
      const before = await balance();
      const session = await deposited();
      expect(await balance()).toBe(before - toBaseUnits(100n));
      expect(await depositInUse(network, session.providerSessionId)).toMatchObject({
        depositor: holder.address,
        amount: toBaseUnits(100n),
        status: 'PENDING',
      });
      await providerSays(platform, session.providerSessionId, 'settled');
      const settled = await reaches(platform, session.id, 'SETTLED');
      expect(settled.depositTxHash).not.toBeNull();
      const acts = await readHolderActs(platform.dependencies, session.id);
      const allowances = network.depositsNeedAllowance ? [['setAllowance', 'LANDED']] : [];
      expect(acts.map(({ kind, state }) => [kind, state])).toEqual([
        ...allowances,
        ['depositOffRamp', 'LANDED'],
      ]);
      expect(await statusOnNetwork(session.providerSessionId)).toBe('SETTLED');
    });

    it('give the tokens back to the holder when the payout fails', async () => {
      const { platform } = inWorld();
      const before = await balance();
      const session = await deposited();
      await providerSays(platform, session.providerSessionId, 'failed');
      await reaches(platform, session.id, 'REFUNDED');
      expect(await balance()).toBe(before);
    });

    it('are the same for the same key, with what is to be signed by now', async () => {
      const { platform } = inWorld();
      const input = depositInputOf(receipt, holder);
      const first = await prepareDeposit(inWorld(), holder, input);
      const second = await prepareCashOutDeposit(platform.dependencies, farmer, input);
      expect(second).toMatchObject({ session: { id: first.session.id }, act: { id: first.act.id } });
      await signAndSubmit(inWorld(), holder, first.act);
      const third = await prepareCashOutDeposit(platform.dependencies, farmer, input);
      expect(third).toMatchObject({ session: { id: first.session.id }, act: null });
      const other = { ...input, holder: (await inWorld().createHolder()).address };
      await expect(prepareCashOutDeposit(platform.dependencies, farmer, other)).rejects.toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
      });
    });

    it('refuse what the holder has not, or has promised, and receipts of others', async () => {
      const { platform, createHolder } = inWorld();
      const ask = (overrides: Partial<PrepareCashOutDepositInput>, caller = farmer) =>
        prepareCashOutDeposit(platform.dependencies, caller, depositInputOf(receipt, holder, overrides));
      const poor = await createHolder();
      await expect(ask({ holder: poor.address })).rejects.toMatchObject({
        code: 'INSUFFICIENT_BALANCE',
        details: { available: '0', holderAddress: poor.address },
      });
      const all = (await balance()) / toBaseUnits(1n);
      const both = await Promise.allSettled([ask({ tokenAmount: all }), ask({ tokenAmount: all })]);
      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      await expect(ask({}, { subject: 'farmer-2', isOperator: false })).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
      // Custody's own balance is separate: a cashOut does not limit the holder's promises, and they do not
      // limit a cashOut.
      const [promised] = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      await letSigningTimePass(inWorld());
      await inWorld().advanceClock(3600);
      await reaches(platform, promised?.session.id ?? '', 'CLOSED');
    });

    it('are closed at the provider when the signature does not come', async () => {
      const { platform } = inWorld();
      const { session, act } = await prepare();
      await letSigningTimePass(inWorld());
      await inWorld().advanceClock(3600);
      const refused = await reaches(platform, session.id, 'CLOSED');
      expect(refused.stateReason).toContain('did not come in time');
      expect(await providerStatus(session.providerSessionId)).toBe('failed');
      const late = submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
      await expect(late).rejects.toMatchObject({
        code: act.unsigned.validUntil === null ? 'CONFLICT' : 'LEDGER_REFUSED',
      });
      expect(await statusOnNetwork(session.providerSessionId)).toBeUndefined();
    });

    it('notice a deposit that the wallet sends by itself', async () => {
      const { platform } = inWorld();
      const { session, act } = await prepare();
      await sendPastUs(inWorld(), holder, act);
      const noticed = await reaches(platform, session.id, 'AWAITING_PAYOUT');
      expect(noticed.depositedAt).not.toBeNull();
      await providerSays(platform, session.providerSessionId ?? '', 'settled');
      await reaches(platform, session.id, 'SETTLED');
    });

    it('give back what is deposited after they were closed', async () => {
      const { platform } = inWorld();
      const before = await balance();
      const { session, act } = await prepare();
      // The wallet keeps the signed deposit back while the provider fails the payout and the session is
      // closed.
      await providerSays(platform, session.providerSessionId ?? '', 'failed');
      await reaches(platform, session.id, 'CLOSED');
      await sendPastUs(inWorld(), holder, act);
      expect(await balance()).toBe(before - toBaseUnits(100n));
      // The session's next look would come a minute later.
      await makeDue(platform, session.id);
      const refunded = await reaches(platform, session.id, 'REFUNDED');
      expect(refunded.resolution).toBe('REFUND');
      expect(await statusOnNetwork(session.providerSessionId)).toBe('REFUNDED');
      expect(await balance()).toBe(before);
    });

    it('go to an operator when the provider pays before the deposit, and on when the holder signs after all', async () => {
      const { platform } = inWorld();
      const { session, act } = await prepare();
      await providerSays(platform, session.providerSessionId ?? '', 'settled');
      const flagged = await reaches(platform, session.id, 'NEEDS_REVIEW');
      expect(flagged.depositedAt).toBeNull();
      const early = submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
      await expect(early).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('Wait until an operator has decided') as string,
      });
      const decision = {
        offRampSessionId: session.id,
        decision: 'RETRY',
        reason: 'called the farmer',
      } as const;
      await decideSession(platform.dependencies, 'operator', decision);
      await reaches(platform, session.id, 'AWAITING_SIGNATURE');
      await signAndSubmit(inWorld(), holder, act);
      await reaches(platform, session.id, 'SETTLED');
      expect((await readHolderActs(platform.dependencies, session.id)).at(-1)).toMatchObject({
        state: 'LANDED',
      });
    });
  });
}
