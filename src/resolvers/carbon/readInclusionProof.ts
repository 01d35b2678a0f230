/**
 * Proves that a retirement record is in the transparency log.
 */
import { proveInclusion, type InclusionProof } from '../../transparency/inclusion.ts';
import type { Needs } from '../core/dependencies.ts';

/** Null while the log does not have it yet. */
export function readInclusionProof(
  { db }: Needs<'db'>,
  record: { position: bigint },
): Promise<InclusionProof | null> {
  return proveInclusion(db, leafIndexOf(record));
}

/** Leaves are in the feed's order, whose positions begin with 1. */
export function leafIndexOf({ position }: { position: bigint }): number {
  return Number(position) - 1;
}
