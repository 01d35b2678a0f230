/**
 * Turns for documents that the server does not know. Parsing, validating and first running one may take tens
 * of milliseconds, in which the process does nothing else. Each turn of the event loop therefore admits one
 * such document, and addresses take turns. Requests with known documents come between them, and a client that
 * sends hundreds at once uses up its computing time after some of them, before the others cost anything.
 */
import { createTurns } from '../server/turns.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { stopwatch } from '../graphql/chargeCpu.ts';
import type { DocumentParams, DocumentSource, NamedDocument } from './documentSource.ts';

/** Each waiting document holds its request of at most 100 kB. */
const MAX_WAITING = 500;
/**
 * Computing time of a new document besides its measured parsing, validating and running: it is kept, logged
 * and collected.
 */
const NEW_DOCUMENT_MS = 2;
/** Time to compare an ordinary document with the trusted ones, which the budgets of requests cover. */
const ORDINARY_MS = 2;
/** A client that waits for longer may have given up. */
const WAIT_MS = 10_000;

/**
 * Resolves to the document of a request, once it may be parsed.
 * @throws DomainError RATE_LIMITED, OVERLOADED, and the errors of the source
 */
export type TakeDocument = (params: DocumentParams, remoteAddress: string) => Promise<NamedDocument | null>;

export function createDocumentTurns(options: {
  source: Pick<DocumentSource, 'documentOf'>;
  /** Whether the text needs no parsing. */
  isParsed: (text: string) => boolean;
  /** @throws DomainError RATE_LIMITED when the address has used up its computing time */
  requireCpu: (remoteAddress: string) => void;
  chargeCpu: (remoteAddress: string, ms: number) => void;
}): TakeDocument {
  const { source, isParsed, requireCpu, chargeCpu } = options;
  const awaitOwn = createTurns({ perTurn: 1, maxWaiting: MAX_WAITING, waitMs: WAIT_MS });
  const awaitTurn = async (text: string, remoteAddress: string) => {
    if (isParsed(text)) return;
    await awaitOwn(addressKey(remoteAddress));
    requireCpu(remoteAddress);
    chargeCpu(remoteAddress, NEW_DOCUMENT_MS);
  };
  // Refused documents are charged, too: where only trusted documents run, those of unknown clients are
  // refused.
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
    // The source may have to parse the text itself, to compare it with the trusted documents.
    if (typeof sent === 'string') await awaitTurn(sent, remoteAddress);
    const document = chargedDocumentOf(params, remoteAddress);
    if (document !== null && document.text !== sent) await awaitTurn(document.text, remoteAddress);
    return document;
  };
}
