/**
 * Retirements up to the state RETIRED on the embedded network, against purchases on the plain server, which
 * take one statement each.
 */
import { sendRequests } from '../load/client.ts';
import { compareRates, type Row } from '../row.ts';
import { endow, openProject, plainClients, retiring } from './market.ts';
import { buy } from './purchase.ts';

/** Time for retirements under way at the end of a turn, so that the next turn begins without any. */
const DRAIN_SECONDS = 120;
const TONNES_EACH = 1_000_000;

export const retireRows: readonly Row[] = [
  row('retire', '64 connections', 64),
  row('retire-1024', '1,024 in flight', 1024),
];

function row(name: string, title: string, connections: number): Row {
  return {
    name,
    group: 'Retirements',
    title,
    unit: '/s',
    baseline: 'purchases on the plain server, 64 connections',
    target: { atLeast: 0.5 },
    async run(bench) {
      const product = await bench.product();
      const plain = await bench.baseline('plainMarketplace');
      const project = await openProject(product);
      await endow(product, project, TONNES_EACH);
      const job = { ...(await retiring(product, project)), connections, drainSeconds: DRAIN_SECONDS };
      return compareRates(
        bench,
        {
          product: () => sendRequests(bench, job),
          baseline: () => buy(bench, plain.port, plainClients(), 64),
        },
        ({ p50Ms, p99Ms }) => ({ 'p50 ms': p50Ms, 'p99 ms': p99Ms }),
      );
    },
  };
}
