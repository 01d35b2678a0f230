/**
 * The outcome of a slot: at most one of its attempts can land, and the slot is dead when all of them are.
 */
import type { LedgerNetwork, Outcome, SentTransaction } from '../network/port.ts';

interface SlotOutcome<Attempt> {
  /** The attempt that the outcome is about: the one that landed, if one did. */
  attempt: Attempt;
  outcome: Outcome;
}

/** From the outcome that decides the slot alone to the one that needs all others. */
const PRECEDENCE: readonly Outcome['status'][] = [
  'succeeded',
  'refused',
  'pending',
  'undeterminable',
  'dead',
];

/**
 * Of attempts with the same outcome, it is about the newest: a Stellar node finds a transaction by its own hash also when it landed
 * within a fee bump, and names the bump's in its events. Retirement and record of the feed would keep two hashes.
 * @param open at least one, oldest first
 * @throws NetworkUnavailable when any of them is unknown: it might be the one that landed
 */
export async function outcomeOfSlot<Attempt extends SentTransaction>(
  network: Pick<LedgerNetwork, 'outcome'>,
  open: readonly Attempt[],
): Promise<SlotOutcome<Attempt>> {
  const reported = await Promise.all(
    open.toReversed().map(async (attempt) => ({ attempt, outcome: await network.outcome(attempt) })),
  );
  const [decisive] = reported.sort((a, b) => rank(a) - rank(b));
  if (!decisive) throw new Error('a slot without attempts has no outcome');
  return decisive;
}

/** Of dead ones, first the one that landed without effect: the others only died because it took their slot. */
function rank({ outcome }: Pick<SlotOutcome<unknown>, 'outcome'>): number {
  const hasLanded = outcome.status === 'dead' && outcome.cause !== undefined;
  return PRECEDENCE.indexOf(outcome.status) - (hasLanded ? 0.5 : 0);
}
