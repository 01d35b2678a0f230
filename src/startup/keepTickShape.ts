/**
 * Keeps process.nextTick fast, which each request and each write to a socket calls several times.
 *
 * Node makes the object of a tick with computed keys. V8 compiles this for one shape of the object, and forgets
 * the shape in a garbage collection while no tick is pending. From then on each key is defined by a call into
 * V8's runtime, and a tick costs five to ten times as much (Node 20 to 26). One tick's object that is kept
 * keeps the shape.
 */
import { createHook } from 'node:async_hooks';

const kept: object[] = [];

/** Has no effect after a collection without a pending tick, so the process begins with it. */
export function keepTickShape(): void {
  const hook = createHook({
    init: (_asyncId, type, _triggerAsyncId, resource) => {
      if (type === 'TickObject') kept.push(resource);
    },
  }).enable();
  process.nextTick(() => undefined);
  hook.disable();
}
