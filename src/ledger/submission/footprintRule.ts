/**
 * Holds back retirements that would take more places of a late one's footprint than it has.
 *
 * A retirement that was simulated at ledger L has places for two others of each signing account: the one that was under
 * way, and the next one, simulated at L or L + 1. So nothing that is simulated later is signed while it is open: without
 * this, a retirement that lands some ledgers late would find more records than it has places for, and fail.
 */
import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { attempts, submissions } from '../../db/tables/index.ts';
import type { Address, DraftFootprint } from '../network/port.ts';
import type { SigningRequest } from './signAttempt.ts';

const MAX_LEDGERS_APART = 1n;
/**
 * A node keeps a waiting transaction for four ledgers, and the worker sends it again. One that is still open then is
 * refused or lost, perhaps because its account has no funds: it must not hold up the token until its time is over. If it
 * lands even later it may fail, and is signed again.
 */
const MAX_HOLD_LEDGERS = 8n;

interface Range {
  oldest: bigint;
  newest: bigint;
}

/** @returns what may be signed now; the others are simulated again later */
export async function keepWithinFootprints(
  tx: Pick<Tx, 'select'>,
  requests: readonly SigningRequest[],
): Promise<readonly SigningRequest[]> {
  const footprints = requests.flatMap(({ draft: { footprint } }) => footprint ?? []);
  if (footprints.length === 0) return requests;
  const newest = new Map<Address, bigint>();
  for (const { tokenAddress, preparedAtLedger: ledger } of footprints) {
    newest.set(tokenAddress, largest(ledger, newest.get(tokenAddress)));
  }
  const open = await readOpen(tx, newest);
  return requests.filter(({ draft: { footprint } }) => {
    if (!footprint) return true;
    const { tokenAddress } = footprint;
    // Two of one batch can be too far apart as well: the newer ones are signed.
    if ((newest.get(tokenAddress) ?? 0n) - footprint.preparedAtLedger > MAX_LEDGERS_APART) return false;
    return isWithin(footprint, open.get(tokenAddress));
  });
}

function isWithin({ preparedAtLedger: ledger }: DraftFootprint, open: Range | undefined): boolean {
  if (!open) return true;
  return ledger - open.oldest <= MAX_LEDGERS_APART && open.newest - ledger <= MAX_LEDGERS_APART;
}

/** The open retirements of each token that hold others back. */
async function readOpen(
  tx: Pick<Tx, 'select'>,
  newest: ReadonlyMap<Address, bigint>,
): Promise<Map<Address, Range>> {
  const token = sql<string>`${submissions.call} ->> 'tokenAddress'`;
  const rows = await tx
    .select({ token, ledger: attempts.preparedAtLedger })
    .from(attempts)
    .innerJoin(submissions, eq(submissions.id, attempts.submissionId))
    .where(
      and(
        eq(attempts.state, 'OPEN'),
        eq(submissions.kind, 'retire'),
        eq(submissions.signer, 'CUSTODY'),
        inArray(token, [...newest.keys()]),
      ),
    );
  const open = new Map<Address, Range>();
  for (const { token: address, ledger } of rows) {
    if ((newest.get(address) ?? 0n) - ledger > MAX_HOLD_LEDGERS) continue;
    const before = open.get(address) ?? { oldest: ledger, newest: ledger };
    const oldest = ledger < before.oldest ? ledger : before.oldest;
    open.set(address, { oldest, newest: largest(ledger, before.newest) });
  }
  return open;
}

function largest(ledger: bigint, other: bigint | undefined): bigint {
  return other !== undefined && other > ledger ? other : ledger;
}
