/**
 * Expiry of the due receipts, against the specification's loop, which reads every active receipt's token, one
 * after the other.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createReads } from '../../src/ledger/network/embedded/reads.ts';
import { openDatabase } from '../../src/db/connection.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Bench } from '../bench.ts';
import { inTurns, type Row } from '../row.ts';
import { seedReceipts } from '../seed/receipts.ts';

const DATABASE = 'receipts';
const RECEIPTS = 1_000_000;
/** The parts are written concurrently, because one statement uses one processor. */
const PARTS = 2;
const DUE = 1_000;
/** Number of measured reads of the loop; the others take as long each. */
const SAMPLE = 500;
const POLL_INTERVAL_MS = 20;

const EXPIRE = 'mutation { expireReceipts { expiryRun { id } } }';

export const expiryRows: readonly Row[] = [
  {
    name: 'expiry',
    group: 'Growth',
    title: `${DUE.toLocaleString('en')} due receipts of many active ones`,
    unit: 's',
    baseline: `the specification's loop, from ${SAMPLE} of its reads`,
    target: { atLeast: 1000 },
    async run(bench) {
      const server = await bench.product(DATABASE);
      bench.say(`writing ${RECEIPTS} receipts`);
      await Promise.all(
        Array.from({ length: PARTS }, () => seedReceipts(bench.sql(DATABASE), RECEIPTS / PARTS, 0)),
      );
      let due = 0;
      const { ratio, product, baseline } = await inTurns(bench, {
        baseline: async () => (await loopReadSeconds(bench)) * RECEIPTS,
        async product() {
          await seedReceipts(bench.sql(DATABASE), DUE, DUE);
          due += DUE;
          const startedMs = performance.now();
          await server.ask(EXPIRE, {}, ['operator', 'operator']);
          await allDecided(bench, due);
          return (performance.now() - startedMs) / 1000;
        },
        of: (seconds) => 1 / seconds,
      });
      return { ratio, product, baseline, details: { 'active receipts': RECEIPTS, 'due receipts': DUE } };
    },
  },
];

/** @returns the seconds of one read */
async function loopReadSeconds(bench: Bench): Promise<number> {
  const tokens = await bench.sql(DATABASE)<{ address: string }[]>`
    SELECT token_address AS address FROM receipts WHERE state = 'ACTIVE' LIMIT ${SAMPLE}`;
  const url = await bench.newDatabase(DATABASE);
  const handle = openDatabase({ url, poolSize: 4, applicationName: 'bench' });
  try {
    const reads = createReads(handle.db, systemClock, '');
    const startedMs = performance.now();
    for (const { address } of tokens) await reads.expiryOf([address]);
    return (performance.now() - startedMs) / 1000 / tokens.length;
  } finally {
    await handle.close();
  }
}

/** @param due number of due receipts in all turns so far */
async function allDecided(bench: Bench, due: number): Promise<void> {
  const sql = bench.sql(DATABASE);
  for (;;) {
    const [row] = await sql<{ expired: number; failed: number }[]>`
      SELECT count(*) FILTER (WHERE state = 'EXPIRED')::int AS expired, count(*) FILTER (WHERE state IN ('FAILED', 'NOT_DUE'))::int AS failed
      FROM expiry_items`;
    if ((row?.failed ?? 0) > 0) throw new Error(`${row?.failed} receipts could not be expired`);
    if (row?.expired === due) return;
    await delay(POLL_INTERVAL_MS);
  }
}
