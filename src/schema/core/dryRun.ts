/**
 * The meaning of `dryRun` in every mutation that has it. The input: `dryRun: t.boolean(DRY_RUN)`.
 */

export const DRY_RUN = {
  defaultValue: false,
  description:
    'Whether to make every check and change nothing. The response describes the effect that the mutation would ' +
    'have, or contains the error that it would return. The `idempotencyKey` is neither checked nor used up. ' +
    'Concurrent changes can still alter the outcome of the real mutation.',
} as const;

/** The description of every payload's `dryRun`. */
export const DRY_RUN_ANSWER = 'The effect that the mutation would have. Null unless `dryRun` is true.';
