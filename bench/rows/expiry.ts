/**
 * Expiring the receipts that are due, against the specification's loop: every active receipt's token is asked, one after
 * the other.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createReads } from '../../src/ledger/network/embedded/reads.ts';
import { openDatabase } from '../../src/db/connection.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Bench } from '../bench.ts';
import type { Row } from '../row.ts';
import { seedReceipts } from '../seed/receipts.ts';

const DATABASE = 'receipts';
const DUE = 1_000;
/** Of the loop; the rest takes as long each. */
const SAMPLE = 500;
const LOOK_INTERVAL_MS = 20;

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
      const product = await bench.product(DATABASE);
      const { receipts } = bench.size;
      bench.say(`writing ${receipts} receipts`);
      await seedReceipts(bench.sql(DATABASE), receipts, DUE);
      bench.say('the loop');
      const loopSeconds = (await loopReadSeconds(bench)) * receipts;
      bench.say('the product');
      const startedMs = performance.now();
      await product.ask(EXPIRE, {}, ['operator', 'operator']);
      await allDecided(bench);
      const tookSeconds = (performance.now() - startedMs) / 1000;
      return {
        ratio: loopSeconds / tookSeconds,
        product: tookSeconds,
        baseline: loopSeconds,
        details: { 'active receipts': receipts, 'due receipts': DUE },
      };
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

async function allDecided(bench: Bench): Promise<void> {
  const sql = bench.sql(DATABASE);
  for (;;) {
    const [row] = await sql<{ expired: number; failed: number }[]>`
      SELECT count(*) FILTER (WHERE state = 'EXPIRED')::int AS expired, count(*) FILTER (WHERE state IN ('FAILED', 'NOT_DUE'))::int AS failed
      FROM expiry_items`;
    if ((row?.failed ?? 0) > 0) throw new Error(`${row?.failed} receipts could not be expired`);
    if (row?.expired === DUE) return;
    await delay(LOOK_INTERVAL_MS);
  }
}
