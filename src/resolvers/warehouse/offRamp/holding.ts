/**
 * Computes what a depositor holds of a receipt's token beyond what other off-ramp sessions are about to
 * deposit, and what is left of the receipt. The network has the balance, the database the promises. A deposit
 * that has landed, but is not settled here yet, has left the balance and is still promised. Counted twice, it
 * would make the check refuse available tokens, and close a session permanently.
 */
import { and, eq, isNotNull, isNull, lt, ne, notInArray, or, sql, type SQL } from 'drizzle-orm';
import type { Db } from '../../../db/connection.ts';
import { offRampSessions, receipts } from '../../../db/tables/index.ts';
import { DomainError } from '../../../lib/errors.ts';
import type { LedgerNetwork } from '../../../ledger/network/port.ts';
import { BASE_UNITS_PER_WHOLE } from '../../../ledger/units.ts';
import { isTaken, remainingOf } from '../readTaken.ts';
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

/** Kilograms of the receipt to which other off-ramp sessions have a claim. */
interface Claims {
  quantityKg: bigint;
  /** They will be deposited from the same address, and have not been yet. */
  promisedKg: bigint;
  /** They are paid out, or promised to be (readTaken.ts). */
  takenKg: bigint;
}

type HoldingNeeds = { db: Db; network: LedgerNetwork };
type Custody = Pick<LedgerNetwork, 'custodyAddress'>;

/** A deposit may land between the read of the deposits and that of the balance; the next round sees it. */
const MAX_LOOKS = 3;
/** Maximum deposits asked about; each is a question to the network. The others count as promised. */
const MAX_DEPOSITS_ASKED = 20;

/** @throws DomainError INSUFFICIENT_BALANCE */
export async function requireHolding(deps: HoldingNeeds, plan: CashOutPlan): Promise<Holding> {
  let landedIds: string[] = [];
  for (let looks = 1; ; looks++) {
    const [balance, claims] = await Promise.all([
      deps.network.balanceOf(plan.tokenAddress, plan.depositorAddress),
      readClaims(deps.db, plan, 'older', landedIds),
    ]);
    const holding = { balance, landedIds };
    if (looks === MAX_LOOKS || availableKg(holding, claims) >= plan.tokenAmountKg) {
      requireFree(deps.network, plan, holding, claims);
      return holding;
    }
    // Read before the next round's balance: a deposit that lands later is in that balance, and stays
    // promised.
    landedIds = await findLanded(deps, plan);
  }
}

/**
 * @param of older sessions, and deposited ones: of two that together want too much, the later one is refused
 * @param landedIds sessions that promise nothing any more
 */
export async function readClaims(
  db: Pick<Db, 'select'>,
  plan: CashOutPlan,
  of: 'all' | 'older',
  landedIds: readonly string[] = [],
): Promise<Claims> {
  const { id, receiptId, depositedAt } = offRampSessions;
  // Ids are ordered by time.
  const counted = of === 'all' ? ne(id, plan.id) : lt(id, plan.id);
  const isPromised = and(isPromise(plan), counted, notInArray(id, [...landedIds]));
  const [row] = await db
    .select({
      quantityKg: receipts.quantityKg,
      promisedKg: kilogramsOf(isPromised),
      takenKg: kilogramsOf(and(isTaken, or(counted, isNotNull(depositedAt)))),
    })
    .from(receipts)
    .leftJoin(offRampSessions, eq(receiptId, receipts.id))
    .where(eq(receipts.id, plan.receiptId))
    .groupBy(receipts.id);
  if (!row) throw new Error(`receipt ${plan.receiptId} has vanished`);
  return row;
}

function kilogramsOf(which: SQL | undefined) {
  return sql`coalesce(sum(${offRampSessions.tokenAmountKg}) FILTER (WHERE ${which}), 0)`.mapWith(BigInt);
}

/** @throws DomainError INSUFFICIENT_BALANCE */
export function requireFree(network: Custody, plan: CashOutPlan, holding: Holding, claims: Claims): void {
  requireAvailable(network, plan, holding, claims);
  requireUnpaid(network, plan, claims);
}

function requireAvailable(
  { custodyAddress }: Custody,
  plan: CashOutPlan,
  holding: Holding,
  claims: Claims,
): void {
  const left = availableKg(holding, claims);
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

function availableKg({ balance }: Holding, { promisedKg }: Claims): bigint {
  return balance / BASE_UNITS_PER_WHOLE - promisedKg;
}

/**
 * Custody may also be the treasury, and then holds tokens that were paid out before: it pays no kilogram of a
 * receipt twice. Tokens in a holder's wallet belong to the holder, wherever they came from.
 * @throws DomainError INSUFFICIENT_BALANCE
 */
export function requireUnpaid(
  { custodyAddress }: Custody,
  { depositorAddress, tokenAmountKg }: CashOutPlan,
  { quantityKg, takenKg }: Pick<Claims, 'quantityKg' | 'takenKg'>,
): void {
  const available = remainingOf(quantityKg, takenKg);
  if (depositorAddress !== custodyAddress || available >= tokenAmountKg) return;
  throw new DomainError(
    'INSUFFICIENT_BALANCE',
    `${tokenAmountKg} kg were to be cashed out, but of the ${quantityKg} kg of the receipt ${takenKg} kg were paid out before, or are ` +
      `promised to other off-ramp sessions: ${available} kg are left.`,
    {
      field: 'input.tokenAmount',
      requested: tokenAmountKg.toString(),
      available: available.toString(),
    },
  );
}

async function findLanded(deps: HoldingNeeds, plan: CashOutPlan): Promise<string[]> {
  const { id, providerSessionId } = offRampSessions;
  const promised = await deps.db
    .select()
    .from(offRampSessions)
    .where(and(isPromise(plan), lt(id, plan.id), isNotNull(providerSessionId)))
    .orderBy(id)
    .limit(MAX_DEPOSITS_ASKED);
  const asked = promised.map(async (session) => {
    const deposit = await findDeposit(deps, requireOpenAtProvider(session));
    const hasLeft = deposit !== null && deposit.status !== 'REFUNDED' && isAsAgreed(session, deposit);
    return hasLeft ? [session.id] : [];
  });
  return (await Promise.all(asked)).flat();
}

function isPromise({ receiptId, depositorAddress }: CashOutPlan) {
  const { depositedAt, state } = offRampSessions;
  return and(
    eq(offRampSessions.receiptId, receiptId),
    eq(offRampSessions.depositorAddress, depositorAddress),
    isNull(depositedAt),
    ne(state, 'CLOSED'),
  );
}
