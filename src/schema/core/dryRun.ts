/**
 * The meaning of `dryRun` in every mutation that has it. The input: `dryRun: t.boolean(DRY_RUN)`.
 */

export const DRY_RUN = {
  defaultValue: false,
  description:
    'True to make every check and change nothing: the answer says what the mutation would do, or has the error that it would have. The ' +
    '`idempotencyKey` is neither looked at nor used up, and what others do meanwhile can change the outcome.',
} as const;

/** The description of every payload's `dryRun`. */
export const DRY_RUN_ANSWER = 'What the mutation would do; null unless `dryRun` was asked for.';
