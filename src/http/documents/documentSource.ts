/**
 * Finds the document of a request: the text that it sends, or the document that it names by id. HTTP, SSE and
 * websockets share these rules.
 *
 *   trusted documents        known before the start (trustedDocuments.ts), by their id or their text
 *   persisted queries        sent before by a client (Apollo's automatic persisted queries), by their SHA-256
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../lib/errors.ts';
import { isObject } from '../../lib/parseJson.ts';
import type { TrustedDocuments } from './trustedDocuments.ts';

/** The parameters of a request that name its document, unchecked. */
export interface DocumentParams {
  query?: unknown;
  /** The id of a trusted document in its file. */
  documentId?: unknown;
  extensions?: unknown;
}

export interface NamedDocument {
  text: string;
  /** The hash to keep the text under, once it is known to be valid. */
  hash?: string;
}

export interface DocumentSource {
  /**
   * The document of a request; null when it names none and sends no text.
   * @throws DomainError DOCUMENT_NOT_TRUSTED, PERSISTED_QUERY_NOT_FOUND, PERSISTED_QUERY_NOT_SUPPORTED,
   *   BAD_REQUEST
   */
  documentOf(params: DocumentParams): NamedDocument | null;
  /** Keeps a valid document for requests that send its hash alone. */
  keep(hash: string, text: string): void;
}

export interface DocumentRules {
  trusted: TrustedDocuments | null;
  /** Whether all other documents are refused. */
  trustedOnly: boolean;
}

export const ANY_DOCUMENT: DocumentRules = { trusted: null, trustedOnly: false };

/** Several applications with a hundred operations each. */
const MAX_KEPT_DOCUMENTS = 2_000;
/** A kept text costs its size alone: parsed documents have their own cache. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

/** SHA-256 in hexadecimal, and the shorter and longer hashes that other tools take for ids. */
const DOCUMENT_ID = /^[\w.:-]{1,128}$/;

export function createDocumentSource({ trusted, trustedOnly }: DocumentRules): DocumentSource {
  const kept = new LRUCache<string, string>({
    max: MAX_KEPT_DOCUMENTS,
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: (text) => Math.max(Buffer.byteLength(text), 1),
  });
  const textOf = (id: string) => trusted?.textOf(id) ?? (trustedOnly ? undefined : kept.get(id));
  return {
    documentOf(params) {
      const id = documentIdOf(params);
      const { query: sent } = params;
      // graphql-transport-ws requires a query, so a client without one sends an empty text.
      if (sent == null || (sent === '' && id !== null)) {
        if (id === null) return null;
        const text = textOf(id.value);
        if (text === undefined) throw trustedOnly || !id.isHash ? notSupported(id.value) : notFound();
        return { text };
      }
      // The pipeline refuses a query that is not text, and says why.
      if (typeof sent !== 'string') return null;
      if (trustedOnly && trusted?.hasText(sent) !== true) throw notTrustedText();
      if (id === null || trusted?.textOf(id.value) === sent) return { text: sent };
      requireHash(id, sent);
      return trustedOnly ? { text: sent } : { text: sent, hash: id.value };
    },
    keep: (hash, text) => void kept.set(hash, text),
  };
}

interface DocumentId {
  value: string;
  /** Whether a request that also sends the text promises that the id is the text's hash. */
  isHash: boolean;
}

function documentIdOf({ documentId, extensions }: DocumentParams): DocumentId | null {
  const persisted = isObject(extensions) ? extensions['persistedQuery'] : null;
  if (persisted != null) return { value: hashOf(persisted), isHash: true };
  if (documentId == null) return null;
  if (typeof documentId !== 'string' || !DOCUMENT_ID.test(documentId)) {
    throw badRequest('"documentId" must be the id of a document: letters, digits, ".", ":", "_" and "-".');
  }
  return { value: documentId, isHash: false };
}

function hashOf(persisted: unknown): string {
  const { version, sha256Hash } = isObject(persisted) ? persisted : {};
  if (version !== 1) throw badRequest('"extensions.persistedQuery.version" must be 1.');
  if (typeof sha256Hash !== 'string' || !DOCUMENT_ID.test(sha256Hash)) {
    throw badRequest(
      '"extensions.persistedQuery.sha256Hash" must be the SHA-256 of the query, in hexadecimal.',
    );
  }
  return sha256Hash;
}

function requireHash({ value, isHash }: DocumentId, text: string): void {
  if (!isHash) throw badRequest('Send "documentId" or "query", not both.');
  const actual = createHash('sha256').update(text).digest('hex');
  if (actual === value) return;
  throw badRequest(
    `"extensions.persistedQuery.sha256Hash" is ${value}, but the SHA-256 of the query is ${actual}. Hash the text as ` +
      'it is sent, or have the server know the document (TRUSTED_DOCUMENTS).',
  );
}

/** Clients compare the message (urql) or the code (Apollo) before they send the text as well. */
function notFound(): DomainError {
  return new DomainError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');
}

/**
 * After this answer, clients send the text without an id. The text is looked up among the trusted documents
 * where only those run; a `documentId` need not be a hash, so no text is kept under it.
 */
function notSupported(id: string): DomainError {
  return new DomainError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported', {
    documentId: id,
  });
}

function notTrustedText(): DomainError {
  return new DomainError(
    'DOCUMENT_NOT_TRUSTED',
    'This server runs trusted documents alone, and this one is not among them. The operator adds documents to TRUSTED_DOCUMENTS.',
  );
}

function badRequest(message: string): DomainError {
  return new DomainError('BAD_REQUEST', message);
}
