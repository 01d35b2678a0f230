/**
 * Proves that a retirement record or a purchase is in its transparency log.
 */
import { proveInclusion, proveTransfer, type InclusionProof } from '../../transparency/inclusion.ts';
import type { Needs } from '../core/dependencies.ts';

/** Null while the log does not have it yet. */
export function readInclusionProof(
  { db }: Needs<'db'>,
  record: { position: bigint },
): Promise<InclusionProof | null> {
  return proveInclusion(db, Number(leafIndexOf(record)));
}

/** A purchase is a transfer. Its entry shows its buyer nothing about other buyers, as that of a credit transfer would. */
export function readPurchaseProof(
  { db }: Needs<'db'>,
  { id }: { id: string },
): Promise<InclusionProof | null> {
  return proveTransfer(db, id);
}

/** Leaves are in the feed's order, whose positions begin with 1. */
export function leafIndexOf({ position }: { position: bigint }): bigint {
  return position - 1n;
}
