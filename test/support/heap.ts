/**
 * The heap of this process, without what nothing refers to.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects all unreferenced objects, at once. */
export const collectGarbage = runInNewContext('gc') as () => void;

/** The bytes that stay in the heap after the work, as long as its result is referred to. */
export async function bytesKeptBy<T>(work: () => T | Promise<T>): Promise<{ bytes: number; result: T }> {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const result = await work();
  collectGarbage();
  return { bytes: process.memoryUsage().heapUsed - before, result };
}
