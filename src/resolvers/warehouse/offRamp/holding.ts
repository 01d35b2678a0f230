/**
 * Computes what a depositor holds of a receipt's token beyond what other off-ramp sessions are about to
 * deposit. The network has the balance, the database the promises. A deposit that has landed, but is not
 * settled here yet, has left the balance and is still promised. Counted twice, it would make the check refuse
 * available tokens, and close a session permanently.
 */
import { and, eq, isNotNull, isNull, lt, ne, notInArray, sum } from 'drizzle-orm';
import type { Db } from '../../../db/connection.ts';
import { offRampSessions } from '../../../db/tables/index.ts';
import { DomainError } from '../../../lib/errors.ts';
import type { LedgerNetwork } from '../../../ledger/network/port.ts';
import { BASE_UNITS_PER_WHOLE } from '../../../ledger/units.ts';
import type { CashOutPlan } from './checkCashOut.ts';
import { findDeposit } from './findDeposit.ts';
import { isAsAgreed } from './findOffRampSession.ts';
import { requireOpenAtProvider } from './offRampMoves.ts';

export interface Holding {
  /** Base units. */
  balance: bigint;
  /** Sessions whose deposits had left the balance when it was read. */
  landedIds: readonly string[];
}

type HoldingNeeds = { db: Db; network: LedgerNetwork };

/** A deposit may land between the read of the deposits and that of the balance; the next round sees it. */
const MAX_LOOKS = 3;
/** Maximum deposits asked about; each is a question to the network. The others count as promised. */
const MAX_DEPOSITS_ASKED = 20;

/** @throws DomainError INSUFFICIENT_BALANCE */
export async function requireHolding(deps: HoldingNeeds, plan: CashOutPlan): Promise<Holding> {
  const older = { beforeId: plan.id };
  let landedIds: string[] = [];
  for (let looks = 1; ; looks++) {
    const [balance, promisedKg] = await Promise.all([
      deps.network.balanceOf(plan.tokenAddress, plan.depositorAddress),
      readPromisedKg(deps.db, plan, { ...older, exceptIds: landedIds }),
    ]);
    const holding = { balance, landedIds };
    if (looks === MAX_LOOKS || availableKg(holding, promisedKg) >= plan.tokenAmountKg) {
      requireAvailable(deps.network, plan, holding, promisedKg);
      return holding;
    }
    // Read before the next round's balance: a deposit that lands later is in that balance, and stays
    // promised.
    landedIds = await findLanded(deps, plan, older);
  }
}

/**
 * Kilograms of the receipt that sessions will deposit from the same address, but have not yet.
 * @param beforeId counts only older sessions: of two that together want too much, the later one is refused.
 */
export async function readPromisedKg(
  db: Pick<Db, 'select'>,
  plan: CashOutPlan,
  { beforeId, exceptIds }: { beforeId?: string; exceptIds: readonly string[] },
): Promise<bigint> {
  const [row] = await db
    .select({ promised: sum(offRampSessions.tokenAmountKg) })
    .from(offRampSessions)
    .where(and(isPromise(plan, beforeId), notInArray(offRampSessions.id, [...exceptIds])));
  return BigInt(row?.promised ?? 0);
}

/** @throws DomainError INSUFFICIENT_BALANCE */
export function requireAvailable(
  { custodyAddress }: Pick<LedgerNetwork, 'custodyAddress'>,
  plan: CashOutPlan,
  holding: Holding,
  promisedKg: bigint,
): void {
  const left = availableKg(holding, promisedKg);
  if (left >= plan.tokenAmountKg) return;
  const available = left > 0n ? left : 0n;
  const { depositorAddress, tokenAddress, tokenAmountKg } = plan;
  const isCustody = depositorAddress === custodyAddress;
  throw new DomainError(
    'INSUFFICIENT_BALANCE',
    `${tokenAmountKg} kg were to be cashed out, but ${isCustody ? 'the custody signer ' : ''}${depositorAddress} holds ` +
      `${available} kg of token ${tokenAddress} that no other off-ramp session has a claim to. ` +
      (isCustody
        ? 'It deposits what it holds itself: transfer the receipt tokens to that address first, then try again; or ' +
          'cash them out from where they are, with prepareCashOutDeposit.'
        : 'It deposits what it holds itself.'),
    {
      field: 'input.tokenAmount',
      requested: tokenAmountKg.toString(),
      available: available.toString(),
      ...(isCustody ? { custodyAddress } : { holderAddress: depositorAddress }),
    },
  );
}

function availableKg({ balance }: Holding, promisedKg: bigint): bigint {
  return balance / BASE_UNITS_PER_WHOLE - promisedKg;
}

async function findLanded(
  deps: HoldingNeeds,
  plan: CashOutPlan,
  { beforeId }: { beforeId: string },
): Promise<string[]> {
  const promised = await deps.db
    .select()
    .from(offRampSessions)
    .where(and(isPromise(plan, beforeId), isNotNull(offRampSessions.providerSessionId)))
    .orderBy(offRampSessions.id)
    .limit(MAX_DEPOSITS_ASKED);
  const asked = promised.map(async (session) => {
    const deposit = await findDeposit(deps, requireOpenAtProvider(session));
    const hasLeft = deposit !== null && deposit.status !== 'REFUNDED' && isAsAgreed(session, deposit);
    return hasLeft ? [session.id] : [];
  });
  return (await Promise.all(asked)).flat();
}

function isPromise({ receiptId, depositorAddress }: CashOutPlan, beforeId: string | undefined) {
  const { id, depositedAt, state } = offRampSessions;
  return and(
    eq(offRampSessions.receiptId, receiptId),
    eq(offRampSessions.depositorAddress, depositorAddress),
    isNull(depositedAt),
    ne(state, 'CLOSED'),
    // Ids are ordered by time.
    beforeId === undefined ? undefined : lt(id, beforeId),
  );
}
