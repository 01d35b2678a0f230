/**
 * purchase: transfers unsold credits to a buyer, in the books only. The transfer is the purchase.
 */
import { finderOf, findersOf, requireById } from '../../db/findByIds.ts';
import { purchases } from '../../db/tables/index.ts';
import type { OpenEntry } from '../../identity/auditLog.ts';
import { DomainError } from '../../lib/errors.ts';
import { purchasePosting } from '../../ledger/books/postings.ts';
import { postTransfers } from '../../ledger/books/postTransfers.ts';
import type { Needs } from '../core/dependencies.ts';
import { idempotencyConflict, postingKeyOf } from '../core/idempotency.ts';
import { dryRun } from '../core/dryRun.ts';
import { readDryRun, type DryRun } from './dryRun.ts';
import { requireProjectByToken, requireTokenAddress, unknownToken } from './findProject.ts';
import { canonicalPrice, isSamePrice, priceOf, readPrices, type Price } from './projectPrices.ts';

interface PurchaseInput {
  buyerId: string;
  tokenAddress: string;
  /** Whole tonnes. */
  amountCO2e: bigint;
  /** The price of a tonne that the buyer saw; null accepts any price. */
  expectedPricePerTonne?: Price | null;
  idempotencyKey: string;
}

export type Purchase = typeof purchases.$inferSelect;

export const findPurchase = finderOf(purchases);
export const findPurchases = findersOf(purchases);

/**
 * @param entry of the audit log, committed with the purchase.
 * @throws DomainError NOT_FOUND, INSUFFICIENT_SUPPLY, PRICE_CHANGED, IDEMPOTENCY_CONFLICT, OVERLOADED
 */
export async function purchase(
  deps: Needs<'books' | 'db' | 'network' | 'ids'>,
  callerSubject: string,
  input: PurchaseInput,
  entry?: OpenEntry,
): Promise<Purchase> {
  const tokenAddress = requireTokenAddress(deps, input.tokenAddress);
  const { buyerId, amountCO2e: amountTonnes, idempotencyKey: key, expectedPricePerTonne } = input;
  const expectedPrice = expectedPricePerTonne && canonicalPrice(expectedPricePerTonne);
  // A reconciliation hashes the booked purchase, and compares it with the hash of this input.
  const asked = { buyerId, tokenAddress, amountCO2e: amountTonnes, ...expectedPrice };
  const request = { callerSubject, operation: 'purchase', key, input: asked };
  const id = deps.ids.next();
  const booked = await deps.books.post({
    posting: purchasePosting({ id, tokenAddress, amountTonnes, buyerId }),
    key: postingKeyOf(request),
    expectedPrice,
    entry: entry?.row({ outcome: 'OK', targetIds: [id] }),
  });
  switch (booked.outcome) {
    case 'POSTED': {
      entry?.markWritten();
      const { projectId, at: createdAt, pricePerTonne, priceCurrency } = booked;
      return { id, projectId, buyerId, amountTonnes, pricePerTonne, priceCurrency, createdAt };
    }
    case 'REPLAYED':
      if (booked.targetId === id) entry?.markWritten();
      return requireById(deps.db, purchases, booked.targetId);
    case 'CONFLICT':
      throw idempotencyConflict(request);
    case 'SHORT':
      throw insufficientSupply(input, booked.available);
    case 'PRICE_CHANGED':
      throw priceChanged(input, priceOf(booked));
    case 'NO_PROJECT':
      throw unknownToken(input.tokenAddress);
  }
}

/**
 * Makes every check of the purchase, and changes nothing. @throws the same errors as `purchase`, except
 * IDEMPOTENCY_CONFLICT
 */
export async function dryRunPurchase(
  deps: Needs<'db' | 'network' | 'clock' | 'ids'>,
  input: PurchaseInput,
): Promise<DryRun> {
  const { id: projectId } = await requireProjectByToken(deps, input.tokenAddress);
  const { buyerId, amountCO2e: amountTonnes, expectedPricePerTonne: expected } = input;
  return dryRun(deps.db, async (tx) => {
    const posting = purchasePosting({ id: deps.ids.next(), projectId, amountTonnes, buyerId });
    const [result] = await postTransfers(tx, [posting], deps.clock.now());
    if (!result?.ok) throw insufficientSupply(input, result?.available ?? 0n);
    // The price is read after the inventory is locked: a price change locks the inventory too.
    const price = (await readPrices({ db: tx }, [projectId])).get(projectId) ?? null;
    if (expected && !isSamePrice(expected, price)) throw priceChanged(input, price);
    return readDryRun(tx, { projectId, buyerId, tonnes: amountTonnes, pricePerTonne: price });
  });
}

function priceChanged(
  { tokenAddress, expectedPricePerTonne }: PurchaseInput,
  price: Price | null,
): DomainError {
  const expected = expectedPricePerTonne && canonicalPrice(expectedPricePerTonne);
  const now = price === null ? 'no price is set' : `it is ${price.amount} ${price.currency}`;
  return new DomainError(
    'PRICE_CHANGED',
    `A tonne of token ${tokenAddress} was expected to cost ${expected?.amount} ${expected?.currency}, but ${now}.`,
    {
      field: 'input.expectedPricePerTonne',
      amount: price?.amount ?? null,
      currency: price?.currency ?? null,
    },
  );
}

function insufficientSupply(input: PurchaseInput, available: bigint): DomainError {
  return new DomainError(
    'INSUFFICIENT_SUPPLY',
    `Of token ${input.tokenAddress}, ${available} t are unsold, less than the ${input.amountCO2e} t to be purchased.`,
    {
      field: 'input.amountCO2e',
      requested: input.amountCO2e.toString(),
      available: available.toString(),
    },
  );
}
