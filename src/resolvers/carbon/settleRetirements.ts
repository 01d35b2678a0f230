/**
 * Settles many landed burns in one transaction: the retirements' states, their transfers retiring → retired,
 * and their records in the feed.
 */
import { sql } from 'drizzle-orm';
import type { IdSource } from '../../lib/clock.ts';
import type { Tx } from '../../db/connection.ts';
import { isTransient } from '../../db/transientFailures.ts';
import { givenRows, isGiven } from '../../db/manyRows.ts';
import { retirements } from '../../db/tables/index.ts';
import { FEED_GREW, type FeedDependencies } from '../../feed/fillToken.ts';
import type { FeedFiller } from '../../feed/feedFiller.ts';
import {
  readUnstored,
  recordSettled,
  type Recorded,
  type SettledBurn,
  type UnstoredRecords,
} from '../../feed/recordSettled.ts';
import { settlePosting, type Posting } from '../../ledger/books/postings.ts';
import { postTransfers } from '../../ledger/books/postTransfers.ts';
import type { LandedIntent, LandedTogether } from '../../ledger/submission/effects.ts';
import type { Logger } from '../../lib/logger.ts';

export interface SettleDependencies {
  ids: IdSource;
  feed: FeedDependencies;
  feedFiller: Pick<FeedFiller, 'requestFill'>;
  log: Logger;
}

/** A landed burn, from its intent and the network's outcome. */
interface LandedBurn {
  retirementId: string;
  tokenAddress: string;
  recordIndex: number;
  txHash: string | null;
  ledger: bigint | null;
}

export function retirementsTogether(deps: SettleDependencies): LandedTogether {
  return async (all) => {
    const tokens = new Set(all.map((one) => burnOf(one).tokenAddress));
    const unstored = await readUnstored(deps.feed, [...tokens]);
    let recorded: Recorded = { appended: 0, behind: [] };
    return {
      async succeeded(tx, landed) {
        const at = landed[0]?.landed.at ?? deps.feed.clock.now();
        const burns = landed.map(burnOf);
        const retired = await retireAll(tx, burns, at);
        recorded = await recordIfPossible(tx, deps, unstored, retired, burns);
        // Last: every hold and purchase of the project waits for these accounts, few wait for the feed's
        // head.
        await postAll(tx, deps, retired, at);
      },
      afterSucceeded() {
        if (recorded.appended > 0) deps.feed.feedSignal.notify(FEED_GREW);
        for (const token of recorded.behind) deps.feedFiller.requestFill(token);
      },
    };
  };
}

function burnOf({ intent: { call, targetId }, landed }: LandedIntent): LandedBurn {
  const { result, txHash, ledger } = landed;
  if (call.kind !== 'retire' || result.kind !== 'retired') {
    throw new Error(`a ${call.kind} for a retirement returned ${result.kind}`);
  }
  const { tokenAddress } = call;
  return { retirementId: targetId, tokenAddress, recordIndex: result.retirementIndex, txHash, ledger };
}

interface Retired {
  id: string;
  projectId: string;
  amountTonnes: bigint;
}

/** @returns retirements by id */
async function retireAll(tx: Tx, burns: readonly LandedBurn[], at: Date): Promise<Map<string, Retired>> {
  const values = burns.map(({ retirementId, txHash, recordIndex, ledger }) => ({
    id: retirementId,
    tx_hash: txHash,
    record_index: recordIndex,
    ledger: ledger === null ? null : String(ledger),
  }));
  const rows = await tx.execute<{ id: string; project_id: string; amount_tonnes: string }>(sql`
    ${givenRows(values, 'id uuid, tx_hash text, record_index integer, ledger bigint')}
    UPDATE ${retirements} r SET state = 'RETIRED', tx_hash = v.tx_hash, record_index = v.record_index, ledger = v.ledger,
      settled_at = ${at.toISOString()}::timestamptz, state_reason = NULL
    FROM v WHERE ${isGiven('r.id')}
    RETURNING r.id, r.project_id, r.amount_tonnes::text`);
  const retired = new Map(
    rows.map(({ id, project_id: projectId, amount_tonnes: amount }) => [
      id,
      { id, projectId, amountTonnes: BigInt(amount) },
    ]),
  );
  const vanished = burns.find(({ retirementId }) => !retired.has(retirementId));
  if (vanished) throw new Error(`retirement ${vanished.retirementId} has vanished`);
  return retired;
}

async function postAll(
  tx: Tx,
  { ids }: SettleDependencies,
  retired: ReadonlyMap<string, Retired>,
  at: Date,
): Promise<void> {
  const postings = [...retired.values()].map(({ id, projectId, amountTonnes }) =>
    settlePosting({ id: ids.next(), projectId, amountTonnes, retirementId: id }),
  );
  await moveOutOfRetiring(tx, postings, at);
}

/** @throws Error for a retirement without its hold */
export async function moveOutOfRetiring(tx: Tx, postings: readonly Posting[], at: Date): Promise<void> {
  const results = await postTransfers(tx, postings, at);
  const failed = results.findIndex(({ ok }) => !ok);
  if (failed < 0) return;
  const { causeId, amountTonnes } = postings[failed] ?? {};
  // The hold moved exactly this amount into retiring; anything else is a defect and must not settle.
  throw new Error(`retirement ${causeId} has no hold of ${amountTonnes} tonnes`);
}

/**
 * A third party's record that can't be stored must not block the platform's own burns: the feed filler
 * reports it.
 */
async function recordIfPossible(
  tx: Tx,
  deps: SettleDependencies,
  unstored: UnstoredRecords,
  retired: ReadonlyMap<string, Retired>,
  burns: readonly LandedBurn[],
): Promise<Recorded> {
  const settled = burns.flatMap(({ retirementId, tokenAddress, recordIndex, txHash }): SettledBurn[] => {
    const projectId = retired.get(retirementId)?.projectId;
    return projectId === undefined ? [] : [{ projectId, tokenAddress, recordIndex, txHash }];
  });
  try {
    return await tx.transaction((nested) => recordSettled(nested, unstored, settled, deps.feed.clock.now()));
  } catch (error) {
    if (isTransient(error)) throw error;
    deps.log.warn({ err: error }, 'records of settled burns were not stored with them');
    return { appended: 0, behind: settled };
  }
}
