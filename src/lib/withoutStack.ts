/**
 * Makes errors without a stack, for refusals that clients see and no log shows: taking and formatting a stack
 * costs more than all other work of an error, and strangers can ask for many.
 */

/** @param make synchronous: errors made after an await have stacks again */
export function withoutStack<T>(make: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
