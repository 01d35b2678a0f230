/**
 * retire: takes a buyer's credits out of circulation, permanently.
 *
 *   request ─▶ credits held (buyer → retiring) + retirement PENDING + burn intent, in one transaction
 *           ─▶ burn landed   ─▶ retiring → retired, RETIRED, record index and hash known
 *           ─▶ burn refused  ─▶ retiring → buyer,   REFUSED
 *           ─▶ not decidable ─▶ still held,         NEEDS_REVIEW
 *
 * The effects of the burn's outcome are in retirementEffects.ts; ledger/submission sends the burn.
 */
import { inOneStatement, insertionOf } from '../../db/manyRows.ts';
import { retirements } from '../../db/tables/index.ts';
import type { OpenEntry } from '../../identity/auditLog.ts';
import { DomainError } from '../../lib/errors.ts';
import { holdPosting } from '../../ledger/books/postings.ts';
import type { RowWriter } from '../../ledger/books/books.ts';
import { postTransfers } from '../../ledger/books/postTransfers.ts';
import { insertionOfIntents } from '../../ledger/submission/enqueue.ts';
import { NEW_SUBMISSION } from '../../ledger/submission/submission.ts';
import { toBaseUnits } from '../../ledger/units.ts';
import { awaitState, readRefusalReason } from '../core/awaitState.ts';
import type { Needs } from '../core/dependencies.ts';
import { requireProjectByToken, requireTokenAddress, unknownToken } from './findProject.ts';
import { findRetirement, type Retirement } from './findRetirement.ts';
import { idempotencyConflict, postingKeyOf } from '../core/idempotency.ts';
import { dryRun } from '../core/dryRun.ts';
import { readDryRun, type DryRun } from './dryRun.ts';
import { insufficientBalance } from './insufficientBalance.ts';
import { checkPurpose, NO_PURPOSE, type RetirementPurpose } from './retirementPurpose.ts';

type HoldNeeds = Needs<'books' | 'network' | 'ids'>;
type RetireNeeds = Needs<keyof HoldNeeds | 'db' | 'stateSignal' | 'mutationWaitMs'>;

export interface RetireInput {
  buyerId: string;
  /** The beneficiary: a free-text label for the public record, not an address. */
  buyerName: string;
  tokenAddress: string;
  /** Whole tonnes. */
  amountCO2e: bigint;
  note: string;
  purpose?: RetirementPurpose;
  idempotencyKey: string;
}

/**
 * @param entry of the audit log, committed with the hold; its outcome follows.
 * @returns the retirement in the state reached when the wait ended: RETIRED, or PENDING or NEEDS_REVIEW with
 *   the credits held.
 * @throws DomainError BAD_USER_INPUT, NOT_FOUND, INSUFFICIENT_BALANCE, IDEMPOTENCY_CONFLICT, OVERLOADED
 *   (nothing is held), LEDGER_REFUSED (credits returned)
 */
export async function retire(
  deps: RetireNeeds,
  callerSubject: string,
  input: RetireInput,
  entry?: OpenEntry,
): Promise<Retirement> {
  const { retirementId, isNew } = await hold(deps, callerSubject, input, entry);
  deps.stateSignal.notify(NEW_SUBMISSION);

  const retirement = await awaitState(
    deps,
    retirementId,
    async () => {
      const current = await findRetirement(deps, retirementId);
      if (!current) throw new Error(`retirement ${retirementId} has vanished`);
      return current;
    },
    ({ state }) => state !== 'PENDING',
    { isNew },
  );
  if (retirement.state === 'REFUSED') {
    const reason = await readRefusalReason(deps, retirementId);
    throw new DomainError(
      'LEDGER_REFUSED',
      `The retirement was refused, and the credits were returned: ${retirement.stateReason}`,
      { retirementId, amountReturned: retirement.amountTonnes.toString(), reason },
    );
  }
  return retirement;
}

interface HoldRow {
  retirement: Pick<Retirement, 'id' | 'buyerId' | 'beneficiary' | 'note' | 'amountTonnes'> &
    RetirementPurpose;
  tokenAddress: string;
}

/** Writes the retirements and the intents to burn, in the transaction of the holds. */
const HOLDS: RowWriter<HoldRow> = {
  async write(tx, rows, deps) {
    const createdAt = deps.clock.now();
    const pending = rows.map(({ retirement, projectId }) => ({
      ...retirement,
      projectId,
      state: 'PENDING' as const,
      createdAt,
    }));
    const intents = rows.map(({ retirement: { id, amountTonnes, beneficiary, note }, tokenAddress }) => ({
      targetType: 'RETIREMENT' as const,
      targetId: id,
      call: { kind: 'retire' as const, tokenAddress, amount: toBaseUnits(amountTonnes), beneficiary, note },
    }));
    const ids = rows.map(() => deps.ids.next());
    await tx.execute(inOneStatement([insertionOf(retirements, pending), insertionOfIntents(ids, intents)]));
  },
};

function rowOf(id: string, tokenAddress: string, input: RetireInput): HoldRow {
  const { buyerId, buyerName: beneficiary, note, amountCO2e: amountTonnes, purpose = NO_PURPOSE } = input;
  return { retirement: { ...purpose, id, buyerId, beneficiary, note, amountTonnes }, tokenAddress };
}

/**
 * Makes every check of the request without asking the network, and changes nothing. @throws the same errors
 * as `retire` before it waits
 */
export async function dryRunRetirement(
  deps: Needs<'db' | 'network' | 'clock' | 'ids'>,
  input: RetireInput,
): Promise<DryRun> {
  checkPurpose(input.purpose ?? NO_PURPOSE);
  const { id: projectId, tokenAddress } = await requireProjectByToken(deps, input.tokenAddress);
  const { buyerId, amountCO2e: amountTonnes } = input;
  return dryRun(deps.db, async (tx) => {
    const id = deps.ids.next();
    const posting = holdPosting({ id: deps.ids.next(), projectId, amountTonnes, retirementId: id, buyerId });
    const [result] = await postTransfers(tx, [posting], deps.clock.now());
    if (!result?.ok) throw shortOf(input, result?.available ?? 0n);
    await HOLDS.write(tx, [{ ...rowOf(id, tokenAddress, input), projectId }], deps);
    return readDryRun(tx, { projectId, buyerId, tonnes: amountTonnes });
  });
}

/**
 * Commits the hold, the retirement and the intent to burn in one transaction, unless an earlier call with
 * this key did.
 */
async function hold(
  deps: HoldNeeds,
  callerSubject: string,
  input: RetireInput,
  entry?: OpenEntry,
): Promise<{ retirementId: string; isNew: boolean }> {
  checkPurpose(input.purpose ?? NO_PURPOSE);
  const tokenAddress = requireTokenAddress(deps, input.tokenAddress);
  const { idempotencyKey, purpose = NO_PURPOSE, ...rest } = input;
  const asked = { ...rest, ...purpose, tokenAddress };
  const request = { callerSubject, operation: 'retire', key: idempotencyKey, input: asked };
  const { buyerId, amountCO2e: amountTonnes } = input;
  const { ids } = deps;
  const id = ids.next();
  const booked = await deps.books.postWith(
    HOLDS,
    {
      posting: holdPosting({ id: ids.next(), tokenAddress, amountTonnes, retirementId: id, buyerId }),
      key: postingKeyOf(request),
      entry: entry?.row(),
    },
    rowOf(id, tokenAddress, input),
  );
  switch (booked.outcome) {
    case 'POSTED':
      entry?.markWritten();
      return { retirementId: id, isNew: true };
    case 'REPLAYED':
      if (booked.targetId === id) entry?.markWritten();
      return { retirementId: booked.targetId, isNew: false };
    case 'CONFLICT':
      throw idempotencyConflict(request);
    case 'SHORT':
      throw shortOf(input, booked.available);
    case 'PRICE_CHANGED':
      throw new Error(`hold ${id} was compared with a price`);
    case 'NO_PROJECT':
      throw unknownToken(input.tokenAddress);
  }
}

function shortOf({ buyerId, tokenAddress, amountCO2e }: RetireInput, available: bigint): DomainError {
  const holder = `buyer ${buyerId}`;
  return insufficientBalance({ verb: 'retired', holder, tokenAddress, requested: amountCO2e, available });
}
