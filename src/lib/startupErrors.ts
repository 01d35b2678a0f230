/**
 * Failures of a start or a command that the operator can fix, in sentences for the operator.
 */

/** A start that fails for a reason that the operator can fix. Only the message is shown. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}

/** Wrong settings, each in a sentence that begins with the setting's name. */
export class WrongSettings extends StartupError {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `${problems.length === 1 ? 'A setting is' : `${problems.length} settings are`} wrong:\n` +
        problems.map((problem) => `  ${problem}`).join('\n'),
    );
    this.problems = problems;
  }
}
