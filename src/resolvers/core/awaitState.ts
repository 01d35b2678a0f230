/**
 * Waits for a row (a project, a retirement, …) to reach a state, up to the mutation's limit or the server's stop, and reads why one was
 * refused. The work itself does not depend on the wait.
 */
import { and, desc, eq } from 'drizzle-orm';
import { submissions } from '../../db/tables/index.ts';
import { NEW_SUBMISSION } from '../../ledger/submission/submission.ts';
import { DomainError, type ErrorDetails } from '../../lib/errors.ts';
import type { Needs } from './dependencies.ts';

/** The first look without a notification; each further one comes after twice the time, so that a lost one doubles a wait at most. */
const FIRST_LOOK_MS = 500;

/**
 * @param isNew the row was made by this call, which would find it as it made it: the first look waits for a notification
 * @returns the row as read when `isDone` was true, the time was up or the server stops.
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
    let lookMs = FIRST_LOOK_MS;
    const waitForLook = () =>
      deps.stateSignal.waitFor(id, Math.min(lookMs, Math.max(deps.mutationWaitMs, 0)));
    if (isNew && !deps.stateSignal.hasEndedWaits()) await waitForLook();
    for (;;) {
      const isLastLook = isTimeUp || deps.mutationWaitMs <= 0 || deps.stateSignal.hasEndedWaits();
      const notified = waitForLook();
      const row = await read();
      if (isLastLook || isDone(row)) return row;
      await notified;
      lookMs *= 2;
    }
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Of a row whose contract is being deployed, from the commit of its intent on.
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
