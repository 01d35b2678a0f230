import { createHook } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { keepTickShape } from '../../../src/startup/keepTickShape.ts';

/** The objects of the ticks that `make` schedules. */
function ticksOf(make: () => void): WeakRef<object>[] {
  const ticks: WeakRef<object>[] = [];
  const hook = createHook({
    init: (_asyncId, type, _triggerAsyncId, resource) => {
      if (type === 'TickObject') ticks.push(new WeakRef(resource));
    },
  }).enable();
  make();
  hook.disable();
  return ticks;
}

async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  // The target of a WeakRef lives at least until the end of the job that made the reference.
  await new Promise((resolve) => setTimeout(resolve, 1));
  gc();
}

it('keeps the object of one tick, and a usual tick keeps none', async () => {
  const kept = ticksOf(keepTickShape);
  const usual = ticksOf(() => process.nextTick(() => undefined));
  await collectGarbage();
  expect(usual.map((tick) => tick.deref())).toEqual([undefined]);
  expect(kept).toHaveLength(1);
  expect(kept[0]?.deref()).toBeTypeOf('object');
});
