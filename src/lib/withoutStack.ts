/**
 * Makes errors without a stack, for refusals that clients see and no log shows: to take a stack, and to format it, costs more than all
 * else of an error, and strangers can ask for many.
 */

/** @param make at once: what it awaits has stacks again */
export function withoutStack<T>(make: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
