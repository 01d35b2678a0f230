/**
 * The meaning of `dryRun` in every mutation that has it: each one that takes an amount from what may not have
 * enough, such as a balance, a supply, a cap or a quote. The input: `dryRun: t.boolean(DRY_RUN)`.
 */

export const DRY_RUN = {
  // Null is refused: a client whose variable is null by mistake would run the mutation for real.
  required: true,
  defaultValue: false,
  description:
    'Whether to make every check and change nothing. The response describes the effect that the mutation would ' +
    'have, or contains the error that it would return. The `idempotencyKey` is neither checked nor used up. ' +
    'Concurrent changes can still alter the outcome of the real mutation.',
} as const;

/** The description of every payload's `dryRun`. */
export const DRY_RUN_ANSWER = 'The effect that the mutation would have. Null unless `dryRun` is true.';
