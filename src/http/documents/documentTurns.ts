/**
 * Turns for documents that the server does not know. Parsing, validating and first running one may take tens of milliseconds, in
 * which the process does nothing else. So one is admitted in each turn of the event loop, of each address in turn: requests with
 * known documents come between them, and a client that sends hundreds at once has used up its computing time after
 * some of them, before the others cost anything.
 */
import { createTurns } from '../../lib/turns.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { stopwatch } from '../graphql/chargeCpu.ts';
import type { DocumentParams, DocumentSource, NamedDocument } from './documentSource.ts';

/** Each holds its request, of 100 kB at most. */
const MAX_WAITING = 500;
/** What a new document takes beside its parsing, validating and running, which are measured: it is kept, logged and collected. */
const NEW_DOCUMENT_MS = 2;
/** What comparing an ordinary document with the trusted ones takes, the budgets of requests count. */
const ORDINARY_MS = 2;
/** A client that waits for longer may have given up. */
const WAIT_MS = 10_000;

/**
 * The document of a request, once it may be parsed.
 * @throws DomainError RATE_LIMITED, OVERLOADED, and what the source throws
 */
export type TakeDocument = (params: DocumentParams, remoteAddress: string) => Promise<NamedDocument | null>;

export function createDocumentTurns(options: {
  source: Pick<DocumentSource, 'documentOf'>;
  /** Whether it needs no parsing. */
  isKnown: (text: string) => boolean;
  /** @throws DomainError RATE_LIMITED, where an address has used up its computing time */
  requireCpu: (remoteAddress: string) => void;
  chargeCpu: (remoteAddress: string, ms: number) => void;
}): TakeDocument {
  const { source, isKnown, requireCpu, chargeCpu } = options;
  const awaitOwn = createTurns({ perTurn: 1, maxWaiting: MAX_WAITING, waitMs: WAIT_MS });
  const awaitTurn = async (text: string, remoteAddress: string) => {
    if (isKnown(text)) return;
    await awaitOwn(addressKey(remoteAddress));
    requireCpu(remoteAddress);
    chargeCpu(remoteAddress, NEW_DOCUMENT_MS);
  };
  // Also what is refused: a stranger's documents are, where only the trusted ones run.
  const chargedDocumentOf = (params: DocumentParams, remoteAddress: string) => {
    const elapsed = stopwatch();
    try {
      return source.documentOf(params);
    } finally {
      const ms = elapsed();
      if (ms > ORDINARY_MS) chargeCpu(remoteAddress, ms);
    }
  };
  return async (params, remoteAddress) => {
    const { query: sent } = params;
    // The source itself may have to parse it, to compare it with what is trusted.
    if (typeof sent === 'string') await awaitTurn(sent, remoteAddress);
    const document = chargedDocumentOf(params, remoteAddress);
    if (document !== null && document.text !== sent) await awaitTurn(document.text, remoteAddress);
    return document;
  };
}
