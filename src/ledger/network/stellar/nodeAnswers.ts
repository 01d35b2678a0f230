/**
 * A Stellar RPC node's answers, as far as this adapter reads them: the form that each must have, and what it
 * means here. The schemas normalise fields that nodes leave out, or spell in two ways (numbers as strings). A
 * throw means that the answer is malformed.
 */
import { xdr } from '@stellar/stellar-sdk';
import * as z from 'zod';
import type { UnixSeconds } from '../port.ts';

/** Nodes give some whole numbers as JSON numbers and some as decimal strings. */
const wholeNumber = z
  .union([z.int().min(0), z.string().regex(/^\d{1,19}$/)])
  .transform((value) => BigInt(value));
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? null);
const list = <T extends z.ZodType>(schema: T) =>
  z
    .array(schema)
    .nullish()
    .transform((value) => value ?? []);
const text = z.string();
const texts = list(text);
/** A value in base64 XDR. */
const encoded = <T>(type: { fromXDR(base64: string, format: 'base64'): T }) =>
  text.transform((base64) => type.fromXDR(base64, 'base64'));

/**
 * A result of another form names no network. An answer without a result is refused, because it says nothing.
 */
export const networkAnswer = z.union([
  z.object({ passphrase: z.unknown(), protocolVersion: z.unknown().optional() }),
  z.json().transform(() => ({ passphrase: undefined })),
]);

/** The node's latest closed ledger, and the oldest that it keeps. */
export interface LedgerState {
  latestLedger: bigint;
  closedAt: UnixSeconds;
  oldestLedger: bigint;
}

export type TransactionAnswer = LedgerState & ({ status: 'NOT_FOUND' } | LandedTransaction);

export interface LandedTransaction extends LandedMeta {
  status: 'SUCCESS' | 'FAILED';
  ledger: bigint;
  envelope: xdr.TransactionEnvelope;
  result: xdr.TransactionResult;
}

interface LandedMeta {
  returnValue: xdr.ScVal | null;
  events: xdr.ContractEvent[];
  changes: xdr.LedgerEntryChange[];
  diagnosticEvents: xdr.DiagnosticEvent[];
}

export type Simulation =
  | { status: 'failed'; latestLedger: bigint; error: string; events: xdr.DiagnosticEvent[] }
  | {
      status: 'succeeded';
      latestLedger: bigint;
      returnValue: xdr.ScVal;
      auth: xdr.SorobanAuthorizationEntry[];
      resources: Resources;
    };

export interface Resources {
  /** Its own fee is `feeStroops` once headroom was added. */
  data: xdr.SorobanTransactionData;
  feeStroops: bigint;
  /**
   * Whether archived entries are restored with them: restoring a contract's code may cost many times as much
   * as any call.
   */
  restores: boolean;
}

export const transactionAnswer = z
  .object({
    status: z.enum(['SUCCESS', 'FAILED', 'NOT_FOUND']),
    latestLedger: wholeNumber,
    latestLedgerCloseTime: wholeNumber,
    oldestLedger: wholeNumber,
    ledger: optional(wholeNumber),
    envelopeXdr: optional(text),
    resultXdr: optional(text),
    resultMetaXdr: optional(text),
    diagnosticEventsXdr: texts,
    events: optional(z.object({ contractEventsXdr: list(texts) })),
  })
  .transform((raw): TransactionAnswer => {
    const { status, latestLedger, latestLedgerCloseTime: closedAt, oldestLedger } = raw;
    const state = { latestLedger, closedAt, oldestLedger };
    if (status === 'NOT_FOUND') return { ...state, status };
    const { ledger, envelopeXdr, resultXdr } = raw;
    if (ledger === null || !envelopeXdr || !resultXdr) {
      throw new Error(`a transaction that is ${status} lacks its ledger, envelope or result`);
    }
    const meta = readMeta(raw.resultMetaXdr);
    const events = (raw.events?.contractEventsXdr ?? [])
      .flat()
      .map((event) => xdr.ContractEvent.fromXDR(event, 'base64'));
    // Nodes put diagnostic events beside the meta, within it, or leave them out.
    const given = raw.diagnosticEventsXdr.map((event) => xdr.DiagnosticEvent.fromXDR(event, 'base64'));
    return {
      ...state,
      ...meta,
      status,
      ledger,
      envelope: xdr.TransactionEnvelope.fromXDR(envelopeXdr, 'base64'),
      result: xdr.TransactionResult.fromXDR(resultXdr, 'base64'),
      events: events.length > 0 ? events : meta.events,
      diagnosticEvents: given.length > 0 ? given : meta.diagnosticEvents,
    };
  });

const NOTHING: LandedMeta = { returnValue: null, events: [], changes: [], diagnosticEvents: [] };

/**
 * Empty if the meta is missing, or in another form than the fourth. The transaction has landed all the
 * same, and results.ts has other sources for its result.
 */
function readMeta(metaXdr: string | null): LandedMeta {
  const meta = metaXdr === null ? null : decoded(metaXdr);
  if (meta?.switch() !== 4) return NOTHING;
  const operations = meta.v4().operations();
  return {
    returnValue: meta.v4().sorobanMeta()?.returnValue() ?? null,
    events: operations.flatMap((operation) => operation.events()),
    changes: operations.flatMap((operation) => operation.changes()),
    diagnosticEvents: meta.v4().diagnosticEvents(),
  };
}

function decoded(metaXdr: string): xdr.TransactionMeta | null {
  try {
    return xdr.TransactionMeta.fromXDR(metaXdr, 'base64');
  } catch {
    return null;
  }
}

const pagedTransaction = z
  .object({ ledger: wholeNumber, createdAt: wholeNumber, envelopeXdr: encoded(xdr.TransactionEnvelope) })
  .transform(({ ledger, createdAt: closedAt, envelopeXdr: envelope }) => ({ ledger, closedAt, envelope }));

export const transactionPageAnswer = z.object({
  transactions: list(pagedTransaction),
  latestLedger: wholeNumber,
  cursor: text,
});

export const simulationAnswer = z
  .object({
    latestLedger: wholeNumber,
    error: optional(text),
    events: texts,
    transactionData: optional(text),
    minResourceFee: optional(wholeNumber),
    results: list(z.object({ xdr: text, auth: texts })),
  })
  .transform((raw): Simulation => {
    const { latestLedger, error } = raw;
    if (error !== null) {
      const events = raw.events.map((event) => xdr.DiagnosticEvent.fromXDR(event, 'base64'));
      return { status: 'failed', latestLedger, error, events };
    }
    const [result] = raw.results;
    if (!result || raw.transactionData === null || raw.minResourceFee === null) {
      throw new Error('a simulation that succeeded lacks its result, resources or fee');
    }
    return {
      status: 'succeeded',
      latestLedger,
      returnValue: xdr.ScVal.fromXDR(result.xdr, 'base64'),
      auth: result.auth.map((entry) => xdr.SorobanAuthorizationEntry.fromXDR(entry, 'base64')),
      resources: resourcesOf(raw.transactionData, raw.minResourceFee),
    };
  });

function resourcesOf(dataXdr: string, minResourceFee: bigint): Resources {
  const data = xdr.SorobanTransactionData.fromXDR(dataXdr, 'base64');
  const declared = BigInt(data.resourceFee().toString());
  return {
    data,
    feeStroops: declared > minResourceFee ? declared : minResourceFee,
    restores: restores(data),
  };
}

/** True if the call restores archived entries, which its resources name. */
function restores(data: xdr.SorobanTransactionData): boolean {
  const ext = data.ext();
  return ext.switch() === 1 && ext.resourceExt().archivedSorobanEntries().length > 0;
}

export type SendAnswer = z.output<typeof sendAnswer>;

export const sendAnswer = z
  .object({
    status: z.enum(['PENDING', 'DUPLICATE', 'TRY_AGAIN_LATER', 'ERROR']),
    latestLedgerCloseTime: optional(wholeNumber),
    errorResultXdr: optional(text),
  })
  .transform(({ status, latestLedgerCloseTime, errorResultXdr }) => ({
    status,
    /** When the node's latest ledger closed; null if the node does not say so. */
    closedAt: latestLedgerCloseTime,
    /** The result code of an ERROR. */
    errorCode: errorResultXdr === null ? null : errorCodeOf(errorResultXdr),
  }));

/** For display only, so an unreadable result gets a text too. */
function errorCodeOf(resultXdr: string): string {
  try {
    return xdr.TransactionResult.fromXDR(resultXdr, 'base64').result().switch().name;
  } catch {
    return 'an unreadable result';
  }
}

export const entriesAnswer = z
  .object({
    latestLedger: wholeNumber,
    entries: list(z.object({ key: text, xdr: encoded(xdr.LedgerEntryData) })),
  })
  .transform(({ latestLedger, entries }) => ({
    latestLedger,
    /** By the base64 XDR of the keys; entries that do not exist are missing. */
    byKey: new Map(entries.map((entry) => [entry.key, entry.xdr])),
  }));

export const feeStatsAnswer = z
  .object({ sorobanInclusionFee: z.object({ p90: wholeNumber, max: wholeNumber }) })
  .transform(({ sorobanInclusionFee: { p90, max } }) => ({
    /** The fee that nine of ten transactions did not exceed. */
    usualStroops: p90,
    highestStroops: max,
  }));

export const EVENTS_PER_PAGE = 1000;

export type EventPage = z.output<typeof eventsAnswer>;

export const eventsAnswer = z
  .object({
    events: list(z.object({ value: encoded(xdr.ScVal), txHash: text })),
    latestLedger: wholeNumber,
    /** The place in the network's order up to which the node has searched: its upper 32 bits are the ledger. */
    cursor: text.regex(/^\d{1,19}-\d{1,10}$/),
  })
  .transform((page) => ({
    ...page,
    /** Whether the node has no further events, up to its latest ledger. */
    isLast:
      page.events.length < EVENTS_PER_PAGE &&
      BigInt(page.cursor.slice(0, page.cursor.indexOf('-'))) >> 32n >= page.latestLedger,
  }));
