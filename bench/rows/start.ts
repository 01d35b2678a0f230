/**
 * A start on an initialised database, and the resources of an idle server.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { cpuMsOf, residentMbOf } from '../processes.ts';
import { median, type Row } from '../row.ts';

const READY_LIMIT_MS = 2_000;
const MEMORY_LIMIT_MB = 150;
const CPU_LIMIT_PERCENT = 0.5;
/** Time after a start in which timers and the optimising compiler still work. */
const CALM_DOWN_MS = 3_000;
/** The first reconciliation runs some ten seconds after a start. */
const FIRST_WORK_MS = 20_000;
/** Long enough for several rounds of the work that repeats every few seconds. */
const IDLE_MS = 20_000;
const DATABASE = 'idle';

export const startRows: readonly Row[] = [
  {
    name: 'start',
    group: 'Start and idle',
    title: 'start to ready, with an initialised database',
    unit: 'ms',
    baseline: `the limit of ${READY_LIMIT_MS} ms`,
    target: { atMost: 1 },
    async run(bench) {
      const startsMs: number[] = [];
      // The first start makes the tables.
      for (let round = 0; round <= bench.rounds; round++) {
        const product = await bench.anotherProduct(DATABASE);
        if (round > 0) startsMs.push(product.process.readyAfterMs);
        await product.stop();
      }
      const tookMs = median(startsMs);
      return { ratio: tookMs / READY_LIMIT_MS, product: tookMs, baseline: READY_LIMIT_MS };
    },
  },
  {
    name: 'idle',
    group: 'Start and idle',
    title: 'idle memory',
    unit: 'MB',
    baseline: `the limit of ${MEMORY_LIMIT_MB} MB`,
    target: { atMost: 1 },
    async run(bench) {
      const product = await bench.anotherProduct(DATABASE);
      bench.say('doing nothing');
      await delay(CALM_DOWN_MS);
      const usedMb = await residentMbOf(product.process);
      await product.stop();
      return { ratio: usedMb / MEMORY_LIMIT_MB, product: usedMb, baseline: MEMORY_LIMIT_MB };
    },
  },
  {
    name: 'idle-cpu',
    group: 'Start and idle',
    title: 'idle processor time',
    unit: '% of a core',
    baseline: `the limit of ${CPU_LIMIT_PERCENT} %`,
    target: { atMost: 1 },
    async run(bench) {
      const product = await bench.anotherProduct(DATABASE);
      bench.say('doing nothing');
      await delay(FIRST_WORK_MS);
      const beforeMs = await cpuMsOf(product.process);
      await delay(IDLE_MS);
      const percent = (((await cpuMsOf(product.process)) - beforeMs) / IDLE_MS) * 100;
      await product.stop();
      return { ratio: percent / CPU_LIMIT_PERCENT, product: percent, baseline: CPU_LIMIT_PERCENT };
    },
  },
];
