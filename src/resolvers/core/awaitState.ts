/**
 * Waits for a row (a project, a retirement, …) to reach a state, until the mutation's time limit or the
 * server's stop, and reads why the network refused a call. The work continues whether or not a caller waits.
 */
import { and, desc, eq } from 'drizzle-orm';
import { submissions } from '../../db/tables/index.ts';
import { NEW_SUBMISSION } from '../../ledger/submission/submission.ts';
import { DomainError, type ErrorDetails } from '../../lib/errors.ts';
import type { Needs } from './dependencies.ts';

/**
 * Time until the first poll without a notification. Each further poll waits twice as long, so that a lost
 * notification at most doubles the wait.
 */
const FIRST_POLL_MS = 500;

/**
 * @param isNew whether this call made the row. The first read then waits for a notification, because an
 *   immediate read would find the row unchanged
 * @returns the row as read when `isDone` was true, the time was up or the server was stopping.
 */
export async function awaitState<T>(
  deps: Needs<'stateSignal' | 'mutationWaitMs'>,
  id: string,
  read: () => Promise<T>,
  isDone: (row: T) => boolean,
  { isNew = false }: { isNew?: boolean } = {},
): Promise<T> {
  // A timer, not the wall clock: a clock that is set back would prolong the wait.
  let isTimeUp = false;
  const timer = setTimeout(() => (isTimeUp = true), deps.mutationWaitMs);
  try {
    let pollMs = FIRST_POLL_MS;
    const waitForPoll = () => deps.stateSignal.waitFor(id, Math.min(pollMs, deps.mutationWaitMs));
    if (isNew && !deps.stateSignal.hasEndedWaits()) await waitForPoll();
    for (;;) {
      const isLastPoll = isTimeUp || deps.mutationWaitMs === 0 || deps.stateSignal.hasEndedWaits();
      const notified = waitForPoll();
      const row = await read();
      if (isLastPoll || isDone(row)) return row;
      await notified;
      pollMs *= 2;
    }
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits for a row whose contract is being deployed. Call it after the commit of the row's intent.
 * @param what is deployed, for the error
 * @throws DomainError LEDGER_REFUSED
 */
export async function awaitDeployed<Row extends { state: string; stateReason: string | null }>(
  deps: Needs<'db' | 'stateSignal' | 'mutationWaitMs'>,
  id: string,
  read: () => Promise<Row>,
  what: string,
  detailsOf: (row: Row) => ErrorDetails = () => ({}),
): Promise<Row> {
  deps.stateSignal.notify(NEW_SUBMISSION);
  const row = await awaitState(deps, id, read, ({ state }) => state !== 'DEPLOYING' && state !== 'MINTING');
  if (row.state !== 'REFUSED') return row;
  const details = { ...detailsOf(row), reason: await readRefusalReason(deps, id) };
  throw new DomainError('LEDGER_REFUSED', `${what} was refused: ${row.stateReason}`, details);
}

/** Why the network refused the latest refused call of a target; null when no call of it was refused. */
export async function readRefusalReason({ db }: Needs<'db'>, targetId: string): Promise<string | null> {
  const [refused] = await db
    .select({ reason: submissions.refusalReason })
    .from(submissions)
    .where(and(eq(submissions.targetId, targetId), eq(submissions.state, 'REFUSED')))
    .orderBy(desc(submissions.createdAt), desc(submissions.id))
    .limit(1);
  return refused?.reason ?? null;
}
