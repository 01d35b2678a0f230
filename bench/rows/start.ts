/**
 * A start on an initialised database, and the resources of an idle server.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { cpuMsOf, residentMbOf } from '../processes.ts';
import { limitRow, median, type Row } from '../row.ts';

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
  limitRow({
    name: 'start',
    group: 'Start and idle',
    title: 'start to ready, with an initialised database',
    unit: 'ms',
    limit: READY_LIMIT_MS,
    async measure(bench) {
      const startsMs: number[] = [];
      // The first start makes the tables.
      for (let round = 0; round <= bench.rounds; round++) {
        const product = await bench.anotherProduct(DATABASE);
        if (round > 0) startsMs.push(product.process.readyAfterMs);
        await product.stop();
      }
      return { value: median(startsMs) };
    },
  }),
  limitRow({
    name: 'idle',
    group: 'Start and idle',
    title: 'idle memory',
    unit: 'MB',
    limit: MEMORY_LIMIT_MB,
    async measure(bench) {
      const product = await bench.anotherProduct(DATABASE);
      bench.say('doing nothing');
      await delay(CALM_DOWN_MS);
      const value = await residentMbOf(product.process);
      await product.stop();
      return { value };
    },
  }),
  limitRow({
    name: 'idle-cpu',
    group: 'Start and idle',
    title: 'idle processor time',
    unit: '% of a core',
    limit: CPU_LIMIT_PERCENT,
    async measure(bench) {
      const product = await bench.anotherProduct(DATABASE);
      bench.say('doing nothing');
      await delay(FIRST_WORK_MS);
      const beforeMs = await cpuMsOf(product.process);
      await delay(IDLE_MS);
      const value = (((await cpuMsOf(product.process)) - beforeMs) / IDLE_MS) * 100;
      await product.stop();
      return { value };
    },
  }),
];
