/**
 * One Stellar RPC node: the questions to it, and the required form of its answers.
 *
 * Every request has a timeout and a limit to its answer. Anything but a well-formed answer is
 * NetworkUnavailable: then nothing is known. A read that stays at an older ledger than one already reported
 * is NetworkUnavailable too: several nodes may share one address, and a node that is behind does not see the
 * newest deposit, mint or contract. Messages never contain the node's URL, which may contain a key.
 */
// oxlint-disable no-underscore-dangle -- the SDK's names for the calls whose answers it leaves as they came
import { xdr } from '@stellar/stellar-sdk';
import type { FeeBumpTransaction, Transaction } from '@stellar/stellar-sdk';
import type * as z from 'zod';
import { createReportedLedgers, type ReportedLedgers } from '../reportedLedgers.ts';
import { retryWhile } from '../retryWhile.ts';
import { NetworkUnavailable } from '../port.ts';
import {
  entriesAnswer,
  eventsAnswer,
  feeStatsAnswer,
  networkAnswer,
  sendAnswer,
  simulationAnswer,
  transactionAnswer,
  transactionPageAnswer,
} from './nodeAnswers.ts';
import { errorCodeOf, landedOf, simulationOf, stateOf } from './nodeDecoding.ts';
import type { LedgerState, Simulation, TransactionAnswer } from './nodeDecoding.ts';
import { openServer } from './server.ts';
import type { ServerOptions } from './server.ts';

/** The limit of ledger entries per answer. */
export const MAX_ENTRIES_PER_ASK = 200;
/** No transaction has this hash; the answer about it shows the node's ledgers. */
const HASH_OF_NOTHING = '0'.repeat(64);
const MAX_MESSAGE_LENGTH = 300;
/** The code of JSON-RPC. */
const METHOD_NOT_FOUND = -32_601;

/** The node never supports this method. */
export class MethodMissing extends NetworkUnavailable {}

interface TransactionPage {
  transactions: {
    ledger: bigint;
    closedAt: bigint | null;
    envelope: xdr.TransactionEnvelope;
    hash: string | null;
  }[];
  latestLedger: bigint;
  cursor: string | null;
}

interface SendAnswer {
  status: 'PENDING' | 'DUPLICATE' | 'TRY_AGAIN_LATER' | 'ERROR';
  /** The result code of an ERROR. */
  errorCode: string | null;
}

interface LedgerEntries {
  latestLedger: bigint;
  /** By the base64 XDR of the keys; entries that do not exist are missing. */
  byKey: Map<string, xdr.LedgerEntryData>;
}

interface InclusionFees {
  /** The fee that nine of ten transactions did not exceed. */
  usualStroops: bigint;
  highestStroops: bigint;
}

/** A ledger, or the cursor of the previous page. */
type PageStart = { ledger: bigint } | { cursor: string };

interface EventFilter {
  start: PageStart;
  contract: string;
  topics: string[];
}

export interface EventPage {
  events: { topics: xdr.ScVal[]; value: xdr.ScVal; txHash: string | null }[];
  latestLedger: bigint;
  cursor: string | null;
}

export interface StellarNode {
  lastReported: ReportedLedgers['last'];
  /** What it gives as its network's passphrase, in any form. */
  passphrase(): Promise<unknown>;
  ledgerState(): Promise<LedgerState>;
  /**
   * As recent as `entries`: a transaction signed by the time of an older ledger would be too late when it is
   * sent, each time anew.
   */
  presentState(): Promise<LedgerState>;
  transaction(hash: string): Promise<TransactionAnswer>;
  transactionsFrom(start: PageStart): Promise<TransactionPage>;
  /**
   * As recent as `entries`. `allowNested` also records authorisations that only arise below the called
   * function.
   */
  simulate(transaction: Transaction, options?: { allowNested: boolean }): Promise<Simulation>;
  send(transaction: Transaction | FeeBumpTransaction): Promise<SendAnswer>;
  /** At most MAX_ENTRIES_PER_ASK keys, as of a ledger not older than any in an answer of the last minute. */
  entries(keys: readonly xdr.LedgerKey[]): Promise<LedgerEntries>;
  /** The recent fees of contract transactions for inclusion, in stroops per operation. */
  inclusionFees(): Promise<InclusionFees>;
  /** As recent as `entries`. */
  events(filter: EventFilter): Promise<EventPage>;
}

const TRANSACTIONS_PER_PAGE = 200;
export const EVENTS_PER_PAGE = 1000;

interface NodeOptions extends ServerOptions {
  /** The clock for the age of a reported ledger; performance.now() by default. */
  elapsedMs?: (() => number) | undefined;
}

export function createNode(options: NodeOptions): StellarNode {
  const server = openServer(options);
  const reportedLedgers = createReportedLedgers(options.elapsedMs);
  const { noted, readPresent } = createPresentReads(reportedLedgers);

  async function ledgerState(): Promise<LedgerState> {
    const asked = () => server._getTransaction(HASH_OF_NOTHING);
    return noted(stateOf(await ask('getTransaction', transactionAnswer, asked)));
  }

  return {
    lastReported: reportedLedgers.last,
    passphrase: async () => (await ask('getNetwork', networkAnswer, () => server.getNetwork())).passphrase,
    ledgerState,
    presentState: () => readPresent(ledgerState),

    async transaction(hash) {
      const raw = await ask('getTransaction', transactionAnswer, () => server._getTransaction(hash));
      return decoded('getTransaction', () => noted({ ...stateOf(raw), ...landedOf(raw) }));
    },

    transactionsFrom: (start) => readTransactionPage(server, start),

    async simulate(transaction, options) {
      const authMode = options?.allowNested ? 'record_allow_nonroot' : undefined;
      return readPresent(async () => {
        const raw = await ask('simulateTransaction', simulationAnswer, () =>
          server._simulateTransaction(transaction, undefined, authMode),
        );
        return decoded('simulateTransaction', () => simulationOf(raw));
      });
    },

    async send(transaction) {
      const raw = await ask('sendTransaction', sendAnswer, () => server._sendTransaction(transaction));
      const { status, errorResultXdr } = raw;
      return { status, errorCode: errorResultXdr === null ? null : errorCodeOf(errorResultXdr) };
    },

    async entries(keys) {
      if (keys.length > MAX_ENTRIES_PER_ASK) {
        throw new RangeError(`${keys.length} ledger entries asked for; at most ${MAX_ENTRIES_PER_ASK}`);
      }
      const raw = await readPresent(() =>
        ask('getLedgerEntries', entriesAnswer, () => server._getLedgerEntries(...keys)),
      );
      return decoded('getLedgerEntries', () => entriesOf(raw));
    },

    async inclusionFees() {
      const raw = await ask('getFeeStats', feeStatsAnswer, () => server.getFeeStats());
      const { p90: usualStroops, max: highestStroops } = raw.sorobanInclusionFee;
      return { usualStroops, highestStroops };
    },

    events: (filter) => readPresent(() => readEventPage(server, filter)),
  };
}

/** Notes the ledgers in one node's answers, and refuses answers of an older ledger. */
function createPresentReads(reportedLedgers: ReportedLedgers) {
  function noted<T extends { latestLedger: bigint }>(answer: T): T {
    reportedLedgers.note(answer.latestLedger);
    return answer;
  }

  /**
   * Refuses a read of a node that is behind, because it is compared with others' answers about a later
   * ledger: a used sequence that it reports as unused would be given away twice, and a burn that it does not
   * show would be made twice.
   */
  async function readPresent<T extends { latestLedger: bigint }>(read: () => Promise<T>): Promise<T> {
    const reportedBefore = reportedLedgers.latest();
    const isBehind = ({ latestLedger }: T) => latestLedger < reportedBefore;
    const answer = await retryWhile(isBehind, async () => noted(await read()));
    if (!isBehind(answer)) return answer;
    throw new NetworkUnavailable(
      `The Stellar node answers as of ledger ${answer.latestLedger}, though ledger ${reportedBefore} has closed`,
    );
  }

  return { noted, readPresent };
}

type Server = ReturnType<typeof openServer>;

async function readTransactionPage(server: Server, start: PageStart): Promise<TransactionPage> {
  const limit = TRANSACTIONS_PER_PAGE;
  const raw = await ask('getTransactions', transactionPageAnswer, () =>
    server._getTransactions(
      'cursor' in start
        ? { pagination: { cursor: start.cursor, limit } }
        : { startLedger: Number(start.ledger), pagination: { limit } },
    ),
  );
  return decoded('getTransactions', () => ({
    latestLedger: raw.latestLedger,
    cursor: raw.cursor,
    transactions: raw.transactions.map(({ ledger, createdAt, envelopeXdr, txHash }) => ({
      ledger,
      closedAt: createdAt,
      envelope: xdr.TransactionEnvelope.fromXDR(envelopeXdr, 'base64'),
      hash: txHash,
    })),
  }));
}

function entriesOf({ latestLedger, entries }: z.output<typeof entriesAnswer>): LedgerEntries {
  return {
    latestLedger,
    byKey: new Map(entries.map((entry) => [entry.key, xdr.LedgerEntryData.fromXDR(entry.xdr, 'base64')])),
  };
}

async function readEventPage(server: Server, { start, contract, topics }: EventFilter): Promise<EventPage> {
  const filters = [{ type: 'contract' as const, contractIds: [contract], topics: [topics] }];
  const limit = EVENTS_PER_PAGE;
  const raw = await ask('getEvents', eventsAnswer, () =>
    server._getEvents(
      'cursor' in start
        ? { filters, cursor: start.cursor, limit }
        : { filters, startLedger: Number(start.ledger), limit },
    ),
  );
  return decoded('getEvents', () => ({
    latestLedger: raw.latestLedger,
    cursor: raw.cursor,
    events: raw.events.map((event) => ({
      topics: event.topic.map((topic) => xdr.ScVal.fromXDR(topic, 'base64')),
      value: xdr.ScVal.fromXDR(event.value, 'base64'),
      txHash: event.txHash,
    })),
  }));
}

async function ask<T>(method: string, schema: z.ZodType<T>, request: () => Promise<unknown>): Promise<T> {
  let answer: unknown;
  try {
    answer = await request();
  } catch (error) {
    // The error is not kept as the cause, because it contains the request with the node's URL.
    const message = `The Stellar node did not answer ${method}: ${messageOf(error)}`;
    throw isUnknownMethod(error) ? new MethodMissing(message) : new NetworkUnavailable(message);
  }
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new NetworkUnavailable(
    `The Stellar node's answer to ${method} is not understood: ${problems.join('; ')}`.slice(
      0,
      MAX_MESSAGE_LENGTH,
    ),
  );
}

function decoded<T>(method: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    throw new NetworkUnavailable(
      `The XDR in the Stellar node's answer to ${method} is not understood: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

function isUnknownMethod(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === METHOD_NOT_FOUND;
}

/** The library throws JSON-RPC errors as plain `{ code, message }` objects. */
function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  const text = typeof message === 'string' && message !== '' ? message : 'no reason given';
  return text.slice(0, MAX_MESSAGE_LENGTH);
}
