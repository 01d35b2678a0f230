/**
 * Finds acts that were prepared for holders with their own wallet, and their state.
 */
import { eq } from 'drizzle-orm';
import { isAmongLatest, isOneOf } from '../../db/manyRows.ts';
import { holderActs, offRampSessions, submissions } from '../../db/tables/index.ts';
import type { HolderCall, UnsignedTransaction } from '../../ledger/network/port.ts';
import { decodeExact } from '../../ledger/submission/exactJson.ts';
import { groupBy } from '../../lib/groupBy.ts';
import type { Submission } from '../../ledger/submission/settle.ts';
import type { Needs } from '../core/dependencies.ts';
import { readTransactions, type SubmissionTransaction } from '../carbon/findRetirement.ts';

type HolderActRow = typeof holderActs.$inferSelect;

/** EXPIRED: the signed act can no longer land. An act that was never submitted stays PREPARED. */
type HolderActState = 'PREPARED' | 'SUBMITTED' | 'LANDED' | 'REFUSED' | 'EXPIRED' | 'NEEDS_REVIEW';

export interface HolderAct extends Omit<HolderActRow, 'call' | 'holderAddress' | keyof UnsignedTransaction> {
  call: HolderCall;
  unsigned: UnsignedTransaction;
  state: HolderActState;
  /** The farmer of its off-ramp session; null for a retirement, and when the receipt names no farmer. */
  farmerId: string | null;
  /** The submission of the signed transaction; null until one was submitted. */
  submission: Submission | null;
}

type Finder = Needs<'db'>;

/**
 * Maximum acts read for a session, which gets a new one each minute at most: older ones can't land any more,
 * or say nothing new.
 */
const MAX_ACTS_OF_SESSION = 100;

export async function findHolderAct(deps: Finder, id: string): Promise<HolderAct | null> {
  return (await findHolderActs(deps, [id])).get(id) ?? null;
}

export async function findHolderActs(
  deps: Finder,
  ids: readonly string[],
): Promise<ReadonlyMap<string, HolderAct>> {
  const rows = await selectActs(deps).where(isOneOf(holderActs.id, ids));
  return new Map(rows.map((row) => [row.act.id, actOf(row)]));
}

/** Reads an act that the caller knows to exist. */
export async function requireHolderAct(deps: Finder, id: string): Promise<HolderAct> {
  const act = await findHolderAct(deps, id);
  if (act === null) throw new Error(`holder's act ${id} has vanished`);
  return act;
}

/** The newest acts of an off-ramp session, oldest first. */
export async function readHolderActs(deps: Finder, offRampSessionId: string): Promise<HolderAct[]> {
  return (await readActsOfSessions(deps, [offRampSessionId])).get(offRampSessionId) ?? [];
}

/** The newest acts of each off-ramp session, oldest first. */
export async function readActsOfSessions(
  deps: Finder,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, HolderAct[]>> {
  const { offRampSessionId, createdAt, id } = holderActs;
  const newest = { latest: [createdAt, id], limit: MAX_ACTS_OF_SESSION };
  const rows = await selectActs(deps)
    .where(isAmongLatest(offRampSessionId, sessionIds, newest))
    .orderBy(createdAt, id);
  return groupBy(rows.map(actOf), (act) => act.offRampSessionId ?? '');
}

/**
 * The signed transactions that were submitted for each act, oldest first. A wallet replaces one a few times at
 * most.
 */
export async function readActTransactions(
  deps: Finder,
  acts: readonly HolderAct[],
): Promise<ReadonlyMap<HolderAct, SubmissionTransaction[]>> {
  const ofTargets = await readTransactions(
    deps,
    acts.flatMap(({ submission }) => submission?.targetId ?? []),
  );
  // A deposit's target is its session, which may have several acts.
  const ofAct = ({ id, submission }: HolderAct) =>
    ofTargets
      .get(submission?.targetId ?? id)
      ?.filter(({ targetId, submissionId }) => targetId === id || submissionId === submission?.id);
  return new Map(acts.map((act) => [act, ofAct(act) ?? []]));
}

function selectActs({ db }: Finder) {
  return db
    .select({ act: holderActs, submission: submissions, farmerId: offRampSessions.farmerId })
    .from(holderActs)
    .leftJoin(submissions, eq(submissions.id, holderActs.submissionId))
    .leftJoin(offRampSessions, eq(offRampSessions.id, holderActs.offRampSessionId))
    .$dynamic();
}

interface ReadAct {
  act: HolderActRow;
  submission: Submission | null;
  farmerId: string | null;
}

function actOf({ act, submission, farmerId }: ReadAct): HolderAct {
  const { call, format, payload, holderAddress: holder, validUntil, preparedAtLedger, ...described } = act;
  return {
    ...described,
    // The database's rules forbid changes to the encoded call.
    call: decodeExact(call) as HolderCall,
    unsigned: { format, payload, holder, validUntil, preparedAtLedger },
    state: stateOf(submission),
    farmerId,
    submission,
  };
}

function stateOf(submission: Submission | null): HolderActState {
  switch (submission?.state) {
    case undefined:
      return 'PREPARED';
    case 'PENDING':
      return 'SUBMITTED';
    case 'SUCCEEDED':
      return 'LANDED';
    case 'REFUSED':
      return submission?.refusalReason === 'EXPIRED' ? 'EXPIRED' : 'REFUSED';
    case 'NEEDS_REVIEW':
      return 'NEEDS_REVIEW';
  }
}
