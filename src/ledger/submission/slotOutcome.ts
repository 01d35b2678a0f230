/**
 * The outcome of a slot: at most one of its attempts can land, and the slot is dead when all of them are.
 */
import type { LedgerNetwork, Outcome, SentTransaction } from '../network/port.ts';

interface SlotOutcome<Attempt> {
  /** The attempt that the outcome is about: the one that landed, if one did. */
  attempt: Attempt;
  outcome: Outcome;
}

/** From the outcome that alone decides the slot to the one that all attempts must have. */
const PRECEDENCE: readonly Outcome['status'][] = [
  'succeeded',
  'refused',
  'pending',
  'undeterminable',
  'dead',
];

/**
 * Asks for the outcome of each attempt. Among attempts with the same outcome, the oldest decides.
 * @param open at least one, oldest first
 * @throws NetworkUnavailable when any of them is unknown: it might be the one that landed
 */
export async function outcomeOfSlot<Attempt extends SentTransaction>(
  network: Pick<LedgerNetwork, 'outcome'>,
  open: readonly Attempt[],
): Promise<SlotOutcome<Attempt>> {
  const reported = await Promise.all(
    open.map(async (attempt) => ({ attempt, outcome: await network.outcome(attempt) })),
  );
  const [decisive] = reported.sort((a, b) => rank(a) - rank(b));
  if (!decisive) throw new Error('a slot without attempts has no outcome');
  return decisive;
}

/** Among dead attempts, the one that landed without effect is first: it took the slot of the others. */
function rank({ outcome }: Pick<SlotOutcome<unknown>, 'outcome'>): number {
  const hasLanded = outcome.status === 'dead' && outcome.cause !== undefined;
  return PRECEDENCE.indexOf(outcome.status) - (hasLanded ? 0.5 : 0);
}
