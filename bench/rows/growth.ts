/**
 * The cost of a long history: for purchases, and for the reconciliation.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { compareRates, middleOf, takeTurns, type Row } from '../row.ts';
import { seedPurchases } from '../seed/purchases.ts';
import { buyingClients, openProject, openProjects } from './market.ts';
import { buy } from './purchase.ts';

/** The rows about a long history share this database, so that the history is made once. */
const GROWN = 'grown';
const EMPTY = 'empty';
const CONNECTIONS = 64;
const FULL_LIMIT_S = 20;
const FULL_TRANSFERS = 1_000_000;
const POLL_INTERVAL_MS = 200;

export const growthRows: readonly Row[] = [
  {
    name: 'growth',
    group: 'Growth',
    title: 'purchases after a long history ÷ without one',
    unit: 'purchases/s',
    baseline: 'the product on an empty database',
    target: { atLeast: 0.9 },
    async run(bench) {
      const grown = await bench.product(GROWN);
      const empty = await bench.product(EMPTY);
      await grow(bench);
      const ofGrown = await buyingClients(grown, await openProjects(grown, 1));
      const ofEmpty = await buyingClients(empty, await openProjects(empty, 1));
      return compareRates(
        bench,
        {
          product: () => buy(bench, grown.port, ofGrown, CONNECTIONS),
          baseline: () => buy(bench, empty.port, ofEmpty, CONNECTIONS),
        },
        ({ p99Ms }) => ({ transfers: bench.size.transfers, 'p99 ms': p99Ms }),
      );
    },
  },
  {
    name: 'reconcile',
    group: 'Growth',
    title: 'a full reconciliation of a million transfers',
    unit: 's',
    baseline: `the limit of ${FULL_LIMIT_S} s`,
    target: { atMost: 1 },
    async run(bench) {
      await bench.product(EMPTY);
      await grow(bench);
      bench.say('waiting for the transparency logs');
      for (const database of [GROWN, EMPTY]) await logsHaveAll(bench, database);
      bench.say('reconciling');
      // In turns: a process that takes a second longer would count as ten seconds of a million transfers.
      const turns = await takeTurns(bench, {
        product: () => reconcileSeconds(bench, GROWN),
        baseline: () => reconcileSeconds(bench, EMPTY),
      });
      const { transfers } = bench.size;
      // Only the cost of each transfer grows; a process and its connections have a fixed cost.
      const ofMillion = ({ product, baseline }: (typeof turns)[number]) =>
        baseline + ((product - baseline) * FULL_TRANSFERS) / transfers;
      const rounds = turns.map((turn) => ({
        product: { seconds: ofMillion(turn), turn },
        baseline: { seconds: FULL_LIMIT_S, turn },
      }));
      const { ratio, product, baseline } = middleOf(rounds, ({ seconds }) => seconds);
      const { product: seconds, baseline: ofNone } = product.turn;
      return {
        ratio,
        product: product.seconds,
        baseline: baseline.seconds,
        details: { 'transfers reconciled': transfers, seconds, 'seconds without them': ofNone },
      };
    },
  },
];

async function reconcileSeconds(bench: Bench, database: string): Promise<number> {
  const { seconds, holds, output } = await bench.reconcile(database);
  if (!holds) throw new Error(`the reconciliation found: ${output}`);
  return seconds;
}

/** Waits for the transparency logs, which are built from committed rows outside of the measured path. */
async function logsHaveAll(bench: Bench, database: string): Promise<void> {
  const sql = bench.sql(database);
  for (;;) {
    const [row] = await sql<{ hasAll: boolean }[]>`
      SELECT (SELECT size FROM transparency_heads WHERE log = 'transfers') = (SELECT count(*) FROM transfers)
        AND NOT EXISTS (SELECT 1 FROM audit_writers w LEFT JOIN transparency_audit_writers l ON l.writer_id = w.id
          WHERE l.number IS DISTINCT FROM w.entries) AS "hasAll"`;
    if (row?.hasAll) return;
    await delay(POLL_INTERVAL_MS);
  }
}

/** Makes the history once in each run. */
async function grow(bench: Bench): Promise<void> {
  const { transfers } = bench.size;
  const product = await bench.product(GROWN);
  const sql = bench.sql(GROWN);
  const [found] = await sql<{ count: number }[]>`SELECT count(*)::int AS count FROM transfers`;
  if ((found?.count ?? 0) >= transfers) return;
  const { tokenAddress } = await openProject(product);
  bench.say(`writing a history of ${transfers} transfers`);
  await seedPurchases(sql, tokenAddress, transfers);
}
