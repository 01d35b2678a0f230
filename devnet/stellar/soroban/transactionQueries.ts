/**
 * Looking up what landed: one transaction by its hash, or all of a range of ledgers, page by page.
 */
import { z } from 'zod';
import type { Chain } from './chain.ts';
import type { ClosedLedger, RememberedTransaction } from './history.ts';
import { INVALID_PARAMS, INVALID_REQUEST, RpcError } from './rpcErrors.ts';
import { toid } from './toid.ts';

const DEFAULT_PAGE = 50;
const MAX_PAGE = 200;

/** @param denies asked when a transaction is there: whether the node is to say that it isn't */
export function readTransaction(
  chain: Chain,
  latest: ClosedLedger,
  hash: string,
  denies: () => boolean,
): unknown {
  if (hash.length !== 64) throw new RpcError(INVALID_PARAMS, `unexpected hash length (${hash.length})`);
  if (!/^[0-9a-f]+$/i.test(hash)) throw new RpcError(INVALID_PARAMS, `incorrect hash: ${hash}`);
  const { history } = chain;
  const oldest = history.oldest(latest.sequence);
  const answer = {
    latestLedger: latest.sequence,
    latestLedgerCloseTime: String(latest.closedAt),
    oldestLedger: oldest,
    oldestLedgerCloseTime: String(history.closedAt(oldest)),
    txHash: hash,
  };
  const found = history.find(hash.toLowerCase());
  if (!found || found.ledger.sequence > latest.sequence || denies()) {
    return { status: 'NOT_FOUND', ...answer };
  }
  return { ...answer, ...details(found), createdAt: String(found.ledger.closedAt) };
}

const querySchema = z.object({
  startLedger: z.int().min(0).optional(),
  pagination: z
    .object({
      cursor: z.string().regex(/^\d+$/).optional(),
      limit: z.int().min(1).max(MAX_PAGE).optional(),
    })
    .default({}),
});

export function readTransactions(chain: Chain, latest: ClosedLedger, params: unknown): unknown {
  const query = querySchema.safeParse(params ?? {});
  if (!query.success) throw new RpcError(INVALID_PARAMS, z.prettifyError(query.error));
  const { startLedger, pagination } = query.data;
  const { history } = chain;
  const oldest = history.oldest(latest.sequence);
  if (startLedger !== undefined && (startLedger < oldest || startLedger > latest.sequence)) {
    throw new RpcError(
      INVALID_REQUEST,
      `start ledger (${startLedger}) must be between the oldest ledger: ${oldest} and the latest ledger: ` +
        `${latest.sequence} for this rpc instance`,
    );
  }
  // A cursor names the last transaction that was seen.
  const after = pagination.cursor ? BigInt(pagination.cursor) : BigInt(toid(startLedger ?? 0, 0, 0)) - 1n;
  const found = history
    .transactions()
    .filter((entry) => entry.ledger.sequence <= latest.sequence && BigInt(placeOf(entry)) > after)
    .slice(0, pagination.limit ?? DEFAULT_PAGE);
  const last = found.at(-1);
  return {
    transactions: found.map((entry) => ({
      ...details(entry),
      txHash: entry.transaction.hash,
      createdAt: Number(entry.ledger.closedAt),
    })),
    latestLedger: latest.sequence,
    latestLedgerCloseTimestamp: Number(latest.closedAt),
    oldestLedger: oldest,
    oldestLedgerCloseTimestamp: Number(history.closedAt(oldest)),
    cursor: last ? placeOf(last) : toid(latest.sequence + 1, 0, 0),
  };
}

function placeOf({ ledger, applicationOrder }: RememberedTransaction): string {
  return String(BigInt(toid(ledger.sequence, applicationOrder, 1)));
}

function details(found: RememberedTransaction) {
  return {
    status: found.isSuccess ? 'SUCCESS' : 'FAILED',
    applicationOrder: found.applicationOrder,
    feeBump: found.transaction.feeBump !== null,
    envelopeXdr: found.transaction.envelope.toXDR('base64'),
    resultXdr: found.result.toXDR('base64'),
    resultMetaXdr: found.meta.toXDR('base64'),
    ledger: found.ledger.sequence,
    ...(found.diagnostics.length > 0
      ? { diagnosticEventsXdr: found.diagnostics.map((event) => event.toXDR('base64')) }
      : {}),
    events: { contractEventsXdr: [found.events.map((event) => event.toXDR('base64'))] },
  };
}
