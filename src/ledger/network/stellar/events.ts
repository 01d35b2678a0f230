/**
 * Reads a contract's events from a given ledger on, page by page.
 */
import type { Address } from '../port.ts';
import type { StellarNode } from './node.ts';
import type { EventPage } from './nodeAnswers.ts';

/** A page has a thousand events or some 10,000 ledgers; a week has 120,000 ledgers. */
const MAX_EVENT_PAGES = 20;
/** The ledgers up to the latest one that the pages reach if few events are in them, with two pages to spare. */
export const LEDGERS_READ = 180_000n;

/** @returns false if there are more events than are read at a time */
export async function readEvents(
  node: StellarNode,
  { from, contract, topics }: { from: bigint; contract: Address; topics: string[] },
  visit: (event: EventPage['events'][number]) => 'go on' | 'enough',
): Promise<boolean> {
  let start: { ledger: bigint } | { cursor: string } = { ledger: from };
  for (let page = 0; page < MAX_EVENT_PAGES; page += 1) {
    const { events, cursor, isLast } = await node.events({ start, contract, topics });
    for (const event of events) if (visit(event) === 'enough') return true;
    if (isLast) return true;
    start = { cursor };
  }
  return false;
}
