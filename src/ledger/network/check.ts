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

export function right(subject: string, found: string): Check {
  return { verdict: 'right', subject, found };
}

export function worse(subject: string, found: string, remedy: string): Check {
  return { verdict: 'worse', subject, found, remedy };
}

/** What was found says by itself what to do, unless `remedy` does. */
export function wrong(subject: string, found: string, remedy?: string): Check {
  return { verdict: 'wrong', subject, found, ...(remedy === undefined ? {} : { remedy }) };
}

/** Looks at one subject; that it could not be looked at is wrong too. */
export async function lookAt(subject: string, look: () => Promise<Check>): Promise<Check> {
  try {
    return await look();
  } catch (error) {
    return wrong(subject, messageOf(error));
  }
}
