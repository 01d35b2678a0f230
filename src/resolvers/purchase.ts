/**
 * purchase: unsold credits become a buyer's. Books only; the network is not involved.
 */
import { eq } from 'drizzle-orm';
import { purchases } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import { purchasePosting } from '../ledger/books/postings.ts';
import { postTransfers } from '../ledger/books/postTransfers.ts';
import type { Dependencies } from './dependencies.ts';
import { requireProjectByToken } from './findProject.ts';
import { reserveKey } from './idempotency.ts';

export interface PurchaseInput {
  buyerId: string;
  tokenAddress: string;
  /** Whole tonnes. */
  amountCO2e: bigint;
  idempotencyKey: string;
}

export type Purchase = typeof purchases.$inferSelect;

/** @throws DomainError NOT_FOUND, INSUFFICIENT_SUPPLY, IDEMPOTENCY_CONFLICT */
export async function purchase(
  deps: Dependencies,
  callerId: string,
  input: PurchaseInput,
): Promise<Purchase> {
  const project = await requireProjectByToken(deps, input.tokenAddress, 'input.tokenAddress');
  const { idempotencyKey, ...rest } = input;
  const { buyerId, amountCO2e } = input;
  const request = { callerId, operation: 'purchase', key: idempotencyKey, input: rest };
  const id = deps.ids.next();
  const now = deps.clock.now();

  const purchaseId = await deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, id, now);
    if (first !== null) return first;
    await tx.insert(purchases).values({
      id,
      projectId: project.id,
      buyerId,
      amountTonnes: amountCO2e,
      createdAt: now,
    });
    const movement = { id: deps.ids.next(), projectId: project.id, amount: amountCO2e };
    const [result] = await postTransfers(
      tx,
      [purchasePosting({ ...movement, purchaseId: id, buyerId })],
      now,
    );
    if (!result?.ok) throw insufficientSupply(input, result?.available ?? 0n);
    return id;
  });

  const [stored] = await deps.db.select().from(purchases).where(eq(purchases.id, purchaseId));
  if (!stored) throw new Error(`purchase ${purchaseId} has vanished`);
  return stored;
}

function insufficientSupply(input: PurchaseInput, available: bigint): DomainError {
  return new DomainError(
    'INSUFFICIENT_SUPPLY',
    `${input.amountCO2e} tonnes were requested, but ${available} of token ${input.tokenAddress} are unsold.`,
    {
      field: 'input.amountCO2e',
      requested: input.amountCO2e.toString(),
      available: available.toString(),
    },
  );
}
