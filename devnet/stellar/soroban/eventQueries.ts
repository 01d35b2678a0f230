/**
 * `getEvents`: the contract events of a range of ledgers, filtered by contract and topics, page by page.
 */
import { StrKey } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import { z } from 'zod';
import type { Chain } from './chain.ts';
import type { RememberedTransaction } from './history.ts';
import { INVALID_PARAMS, INVALID_REQUEST, RpcError } from './rpcErrors.ts';
import { toid } from './toid.ts';

const MAX_PAGE = 10_000;
const DEFAULT_PAGE = 100;
/** Ledgers that one question looks through. */
const SCAN_LEDGERS = 10_000;

const filterSchema = z.object({
  type: z.string().default('contract'),
  contractIds: z.array(z.string()).max(5).default([]),
  topics: z.array(z.array(z.string()).max(5)).max(5).default([]),
});

const querySchema = z.object({
  startLedger: z.int().min(0).default(0),
  endLedger: z.int().min(0).default(0),
  filters: z.array(filterSchema).max(5).default([]),
  pagination: z
    .object({ cursor: z.string().optional(), limit: z.int().min(1).max(MAX_PAGE).optional() })
    .default({}),
});

type Filter = z.infer<typeof filterSchema>;

interface EventRow {
  /** Unique and ascending: ledger, transaction and place within it. */
  id: string;
  event: xdr.ContractEvent;
  transaction: RememberedTransaction;
}

export function readEvents(chain: Chain, latest: number, params: unknown): unknown {
  const query = querySchema.safeParse(params ?? {});
  if (!query.success) throw new RpcError(INVALID_PARAMS, z.prettifyError(query.error));
  const { startLedger, filters, pagination } = query.data;
  const oldest = chain.history.oldest(latest);
  const start = pagination.cursor ? ledgerOfCursor(pagination.cursor) : startLedger;
  if (start < oldest || start > latest) {
    throw new RpcError(INVALID_REQUEST, `startLedger must be within the ledger range: ${oldest} - ${latest}`);
  }
  const end = Math.min(query.data.endLedger || Infinity, latest + 1, start + SCAN_LEDGERS);
  const limit = pagination.limit ?? DEFAULT_PAGE;
  const found = chain.history
    .transactions()
    .filter(({ ledger }) => ledger.sequence >= start && ledger.sequence < end)
    .flatMap(eventRows)
    .filter((row) => !pagination.cursor || row.id > pagination.cursor)
    .filter((row) => filters.length === 0 || filters.some((filter) => isWanted(row.event, filter)))
    .slice(0, limit);
  return {
    events: found.map(toAnswer),
    cursor: found.length === limit ? found.at(-1)?.id : `${toid(end - 1, 0xfffff, 0xfff)}-4294967295`,
    latestLedger: latest,
    oldestLedger: oldest,
    latestLedgerCloseTime: String(chain.history.closedAt(latest)),
    oldestLedgerCloseTime: String(chain.history.closedAt(oldest)),
  };
}

function eventRows(transaction: RememberedTransaction): EventRow[] {
  const prefix = toid(transaction.ledger.sequence, transaction.applicationOrder, 0);
  return transaction.events.map((event, index) => ({
    id: `${prefix}-${String(index).padStart(10, '0')}`,
    event,
    transaction,
  }));
}

function contractOf(event: xdr.ContractEvent): string {
  return StrKey.encodeContract(event.contractId() as unknown as Buffer);
}

function isWanted(event: xdr.ContractEvent, filter: Filter): boolean {
  if (!filter.type.split(',').includes('contract')) return false;
  if (filter.contractIds.length > 0 && !filter.contractIds.includes(contractOf(event))) return false;
  const topics = event
    .body()
    .v0()
    .topics()
    .map((topic) => topic.toXDR('base64'));
  return filter.topics.length === 0 || filter.topics.some((pattern) => matchesTopics(topics, pattern));
}

/** `*` is any one topic, `**` at the end any number of them. */
function matchesTopics(topics: string[], pattern: string[]): boolean {
  const isOpen = pattern.at(-1) === '**';
  const segments = isOpen ? pattern.slice(0, -1) : pattern;
  if (isOpen ? topics.length < segments.length : topics.length !== segments.length) return false;
  return segments.every((segment, index) => segment === '*' || segment === topics[index]);
}

function toAnswer({ id, event, transaction }: EventRow): unknown {
  const body = event.body().v0();
  return {
    type: 'contract',
    ledger: transaction.ledger.sequence,
    ledgerClosedAt: new Date(Number(transaction.ledger.closedAt) * 1000).toISOString().replace('.000Z', 'Z'),
    contractId: contractOf(event),
    id,
    operationIndex: 0,
    transactionIndex: transaction.applicationOrder,
    inSuccessfulContractCall: true,
    txHash: transaction.transaction.hash,
    topic: body.topics().map((topic) => topic.toXDR('base64')),
    value: body.data().toXDR('base64'),
  };
}

function ledgerOfCursor(cursor: string): number {
  const [id] = cursor.split('-');
  if (!id || !/^\d+$/.test(id)) throw new RpcError(INVALID_PARAMS, `invalid cursor ${cursor}`);
  return Number(BigInt(id) >> 32n);
}
