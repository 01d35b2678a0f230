/**
 * The conclusion of a reconciliation for each invariant: holds, broken, or not proved.
 */

/** The invariants, with the numbers of docs/invariants.md. */
export const INVARIANTS = {
  I1: 'The books balance: transfers, entries, accounts and balances agree.',
  I2: 'Custody holds on the network what the books say.',
  I3: 'The minted amount is the verified or deposited amount.',
  I4: 'Retirements and the token’s retirement records match one to one.',
  I5: 'A retirement has its hold, then a landed burn or its credits back, never both.',
  I6: 'One token for one asset.',
  I7: 'At most one landed attempt for one intent, signed by the account that may.',
  I8: 'No session is settled at the provider and refunded on the network, unless an operator has decided so.',
  I9: 'The settlement contract holds what open off-ramp sessions say.',
  I10: 'The feed holds each retirement of each token once, as the token has it.',
  I11: 'Each posting belongs to the mint, purchase, transfer or retirement that it names, and the reverse.',
  I12: 'Each submission that succeeded has landed, and did what its target asked for.',
  I13: 'An off-ramp session agrees with its deposit, its quote and its provider.',
  I14: 'Keys and the audit log are complete.',
  I15: 'The transparency logs have what is committed, and only grew since each of their signed heads.',
  I16: 'Each row keeps the rules of its table.',
} as const;

export type Invariant = keyof typeof INVARIANTS;

/** A broken invariant, with the facts that show it. */
export interface Finding {
  invariant: Invariant;
  message: string;
  /**
   * Custody holds more than the books say, by a transfer from outside, which takes nothing from the platform.
   */
  isGift?: true;
}

/**
 * Why an invariant is not proved. UNDER_WAY and UNDER_REVIEW end when the network or an operator has decided,
 * and NO_ANSWER when the network or the provider answers again. NO_DATA does not end, because there is
 * nothing to compare with. LEFT_OUT means that the comparison was skipped.
 */
type Obstacle = 'UNDER_WAY' | 'UNDER_REVIEW' | 'NO_ANSWER' | 'NO_DATA' | 'LEFT_OUT';

/** Something that could not be compared, and why. */
export interface NotProved {
  invariant: Invariant;
  obstacle: Obstacle;
  /** Names the project, receipt or off-ramp session, and the reason. */
  message: string;
}

export interface Comparison {
  findings: Finding[];
  notProved: NotProved[];
}

export interface Verdict extends Comparison {
  invariant: Invariant;
  promise: string;
  verdict: 'HOLDS' | 'BROKEN' | 'NOT_PROVED';
}

/** Maximum findings of one query, log, project or invariant: further ones say nothing new. */
export const MAX_FINDINGS = 50;

export function nothingCompared(): Comparison {
  return { findings: [], notProved: [] };
}

export function broken(invariant: Invariant, message: string): Comparison {
  return { findings: [{ invariant, message }], notProved: [] };
}

export function unproved(invariants: readonly Invariant[], obstacle: Obstacle, message: string): Comparison {
  return { findings: [], notProved: invariants.map((invariant) => ({ invariant, obstacle, message })) };
}

export function add(sum: Comparison, more: Comparison): void {
  // Added one by one: a call takes at most some 100,000 arguments.
  for (const finding of more.findings) sum.findings.push(finding);
  for (const obstacle of more.notProved) sum.notProved.push(obstacle);
}

/**
 * One verdict per invariant. A finding makes an invariant broken, even if another item could not be compared.
 */
export function verdictsOf(
  { findings, notProved }: Comparison,
  invariants: readonly Invariant[] = Object.keys(INVARIANTS) as Invariant[],
): Verdict[] {
  return invariants.map((invariant) => {
    const broken = findings.filter((finding) => finding.invariant === invariant);
    const open = notProved.filter((obstacle) => obstacle.invariant === invariant);
    return {
      invariant,
      promise: INVARIANTS[invariant],
      verdict: broken.length > 0 ? 'BROKEN' : open.length > 0 ? 'NOT_PROVED' : 'HOLDS',
      findings: broken,
      notProved: open,
    };
  });
}
