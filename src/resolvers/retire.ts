/**
 * retire: a buyer's credits are put out of circulation for ever.
 *
 *   request ─▶ credits held (buyer → retiring) + retirement PENDING + burn intent, in one transaction
 *           ─▶ burn landed   ─▶ retiring → retired, RETIRED, record index and hash known
 *           ─▶ burn refused  ─▶ retiring → buyer,   REFUSED
 *           ─▶ not decidable ─▶ still held,         NEEDS_REVIEW
 *
 * What the network's word does is in retirementEffects.ts; how it gets there in ledger/submission.
 */
import { retirements } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import { holdPosting } from '../ledger/books/postings.ts';
import { postTransfers } from '../ledger/books/postTransfers.ts';
import { enqueueSubmission } from '../ledger/submission/enqueue.ts';
import { NEW_SUBMISSION } from '../ledger/submission/submission.ts';
import { toBaseUnits } from '../ledger/units.ts';
import { awaitSubject } from './awaitSubject.ts';
import type { Dependencies } from './dependencies.ts';
import { requireProjectByToken, type TokenizedProject } from './findProject.ts';
import { findRetirement, type Retirement } from './findRetirement.ts';
import { reserveKey } from './idempotency.ts';

export interface RetireInput {
  buyerId: string;
  /** The beneficiary: a free-text label for the public record, not an address. */
  buyerName: string;
  tokenAddress: string;
  /** Whole tonnes. */
  amountCO2e: bigint;
  note: string;
  idempotencyKey: string;
}

/**
 * @returns the retirement in the state reached when the wait ended: RETIRED, or PENDING or NEEDS_REVIEW with
 * the credits held.
 * @throws DomainError NOT_FOUND, INSUFFICIENT_BALANCE, IDEMPOTENCY_CONFLICT, LEDGER_REJECTED (credits returned)
 */
export async function retire(deps: Dependencies, callerId: string, input: RetireInput): Promise<Retirement> {
  const project = await requireProjectByToken(deps, input.tokenAddress, 'input.tokenAddress');
  const retirementId = await hold(deps, callerId, project, input);
  deps.subjects.ring(NEW_SUBMISSION);

  const retirement = await awaitSubject(
    deps,
    retirementId,
    async () => {
      const current = await findRetirement(deps, retirementId);
      if (!current) throw new Error(`retirement ${retirementId} has vanished`);
      return current;
    },
    ({ state }) => state !== 'PENDING',
  );
  if (retirement.state === 'REFUSED') {
    throw new DomainError(
      'LEDGER_REJECTED',
      `The network refused the retirement, and the credits were returned: ${retirement.refusalMessage}`,
      { retirementId, amountReturned: retirement.amountTonnes.toString() },
    );
  }
  return retirement;
}

/** The debit, the retirement and the intent to burn: all committed, or none of them. */
async function hold(
  deps: Dependencies,
  callerId: string,
  project: TokenizedProject,
  input: RetireInput,
): Promise<string> {
  const { idempotencyKey, ...rest } = input;
  const request = { callerId, operation: 'retire', key: idempotencyKey, input: rest };
  const { buyerId, buyerName: beneficiary, note, amountCO2e } = input;
  const id = deps.ids.next();
  const now = deps.clock.now();

  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, id, now);
    if (first !== null) return first;
    const movement = { id: deps.ids.next(), projectId: project.id, amount: amountCO2e };
    const [result] = await postTransfers(tx, [holdPosting({ ...movement, retirementId: id, buyerId })], now);
    if (!result?.ok) throw insufficientBalance(input, result?.available ?? 0n);
    await tx.insert(retirements).values({
      id,
      projectId: project.id,
      buyerId,
      beneficiary,
      note,
      amountTonnes: amountCO2e,
      state: 'PENDING',
      requestedAt: now,
    });
    const call = {
      kind: 'retire',
      tokenAddress: project.tokenAddress,
      amount: toBaseUnits(amountCO2e),
      beneficiary,
      note,
    } as const;
    await enqueueSubmission(tx, deps, { subjectId: id, call });
    return id;
  });
}

function insufficientBalance(input: RetireInput, available: bigint): DomainError {
  return new DomainError(
    'INSUFFICIENT_BALANCE',
    `${input.amountCO2e} tonnes were to be retired, but buyer ${input.buyerId} holds ${available} of token ` +
      `${input.tokenAddress}.`,
    {
      field: 'input.amountCO2e',
      requested: input.amountCO2e.toString(),
      available: available.toString(),
    },
  );
}
