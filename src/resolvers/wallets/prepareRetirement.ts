/**
 * prepareRetirement: retires credits at a holder's own address, by the holder's signature. The books do not
 * contain these credits, so nothing is held; the token's record shows the holder as retiredBy.
 *
 *   checks ─▶ unsigned transaction, stored ─▶ (signed by the wallet) ─▶ submitSigned
 */
import { and, desc, eq, gt, isNull, sql } from 'drizzle-orm';
import { holderActs } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { BASE_UNITS_PER_WHOLE, toBaseUnits } from '../../ledger/units.ts';
import type { Needs } from '../core/dependencies.ts';
import { requireHolderAct, type HolderAct } from './findHolderAct.ts';
import { requireProjectByToken, requireTokenAddress } from '../carbon/findProject.ts';
import { insufficientBalance } from '../carbon/insufficientBalance.ts';
import { findFirstUseOrBegin, reserveKey, type IdempotentRequest } from '../core/idempotency.ts';
import { prepareAct, requireHolder, storeAct } from './prepareAct.ts';

/**
 * Maximum unsigned retirements of one caller: more than people sign in a day. At some 2 kB each, they fill 2
 * MB a day.
 */
const MAX_UNSIGNED_A_DAY = 1_000;

export interface PrepareRetirementInput {
  tokenAddress: string;
  /** Whole tonnes. */
  amountCO2e: bigint;
  /** The address that holds the credits and signs. */
  holder: string;
  /** A free-text label for the public record, not an address. */
  beneficiary: string;
  note: string;
  idempotencyKey: string;
}

/**
 * @returns the act that the first use of the key prepared, in its present state.
 * @throws DomainError NOT_FOUND, BAD_USER_INPUT, INSUFFICIENT_BALANCE, IDEMPOTENCY_CONFLICT, RATE_LIMITED;
 *   NetworkRefusal, NetworkUnavailable
 */
export async function prepareRetirement(
  deps: Needs<'db' | 'network' | 'ids'>,
  callerSubject: string,
  input: PrepareRetirementInput,
): Promise<HolderAct> {
  const { idempotencyKey: key, ...rest } = input;
  const tokenAddress = requireTokenAddress(deps, input.tokenAddress);
  const holder = deps.network.normalizeAddress(input.holder) ?? input.holder;
  const asked = { ...rest, tokenAddress, holder };
  const request = { callerSubject, operation: 'prepareRetirement', key, input: asked };
  // The first use may itself have spent the balance.
  const id = await findFirstUseOrBegin(deps.db, request, () => prepare(deps, request, input));
  return requireHolderAct(deps, id);
}

async function prepare(
  deps: Needs<'db' | 'network' | 'ids'>,
  request: IdempotentRequest,
  input: PrepareRetirementInput,
): Promise<string> {
  const { id: projectId, tokenAddress } = await requireProjectByToken(deps, input.tokenAddress);
  const holder = requireHolder(deps, input.holder);
  await limitUnsigned(deps, request.callerSubject);
  await requireBalance(deps, tokenAddress, holder, input.amountCO2e);
  const { beneficiary, note } = input;
  const act = await prepareAct(deps, {
    call: { kind: 'retire', tokenAddress, amount: toBaseUnits(input.amountCO2e), beneficiary, note },
    holder,
    preparedBy: request.callerSubject,
    projectId,
  });
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, act.id);
    if (first !== null) return first;
    await storeAct(tx, act);
    return act.id;
  });
}

async function requireBalance(
  deps: Needs<'network'>,
  tokenAddress: string,
  holder: string,
  tonnes: bigint,
): Promise<void> {
  const balance = await deps.network.balanceOf(tokenAddress, holder);
  if (balance >= toBaseUnits(tonnes)) return;
  const available = balance / BASE_UNITS_PER_WHOLE;
  throw insufficientBalance({ verb: 'retired', holder, tokenAddress, requested: tonnes, available });
}

/**
 * Limits unsigned acts: they are stored forever, because a wallet may send one at any time.
 * @throws DomainError RATE_LIMITED with `retryAfterSeconds`
 */
async function limitUnsigned({ db }: Needs<'db'>, callerSubject: string): Promise<void> {
  const [oldest] = await db
    .select({
      leftSeconds: sql<number>`ceil(extract(epoch FROM ${holderActs.createdAt} + interval '1 day' - now()))::int`,
    })
    .from(holderActs)
    .where(
      and(
        eq(holderActs.preparedBy, callerSubject),
        // The kind is a constant, as in the partial index: a cached plan can't match a parameter to that
        // index.
        sql`${holderActs.kind} = 'retire'`,
        isNull(holderActs.submissionId),
        gt(holderActs.createdAt, sql`now() - interval '1 day'`),
      ),
    )
    .orderBy(desc(holderActs.createdAt))
    .offset(MAX_UNSIGNED_A_DAY - 1)
    .limit(1);
  if (!oldest) return;
  throw new DomainError(
    'RATE_LIMITED',
    `${MAX_UNSIGNED_A_DAY} retirements that you prepared in a day were not signed: have them signed, or try again in ` +
      `${oldest.leftSeconds} s.`,
    { limit: MAX_UNSIGNED_A_DAY, retryAfterSeconds: oldest.leftSeconds },
  );
}
