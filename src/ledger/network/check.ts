/**
 * What a look at a configured network finds, a line at a time: `npm run ledger:check` prints it. Each family looks
 * at what it alone knows (evm/checks.ts, stellar/checks.ts).
 */
import { messageOf } from '../../errors.ts';

export interface Check {
  /** `wrong`: the server can't do its work so. `worse`: it can, with less than it could have. */
  verdict: 'right' | 'worse' | 'wrong';
  /** What was looked at, in a word or two. */
  subject: string;
  /** What was found there, with values, and without secrets. */
  found: string;
  /** What to do about it, unless it is right. */
  remedy?: string;
}

/** Looks in order, and goes on after what is wrong. Never throws. */
export type Checks = AsyncIterable<Check>;

/** Looks at one subject; that it could not be looked at is wrong too. */
export async function lookAt(
  subject: string,
  look: () => Promise<Omit<Check, 'subject'>>,
  remedy = 'Correct it, and look again.',
): Promise<Check> {
  try {
    return { subject, ...(await look()) };
  } catch (error) {
    return { verdict: 'wrong', subject, found: messageOf(error), remedy };
  }
}
