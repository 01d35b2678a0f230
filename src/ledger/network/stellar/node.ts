/**
 * One Stellar RPC node: the questions to it, and the required form of its answers.
 *
 * Every request has a timeout and a limit to its answer. Anything but a well-formed answer is
 * NetworkUnavailable: then nothing is known. A read that stays at an older ledger than one already reported
 * is NetworkUnavailable too: several nodes may share one address, and a node that is behind does not see the
 * newest deposit, mint or contract. Messages never contain the node's URL, which may contain a key.
 */
import type { FeeBumpTransaction, Transaction, xdr } from '@stellar/stellar-sdk';
import type * as z from 'zod';
import { createExchange, METHOD_NOT_FOUND } from '../jsonRpc.ts';
import type { NodeOptions } from '../nodeIdentity.ts';
import type { StellarNetworkOptions } from './options.ts';
import { createReportedLedgers, type ReportedLedgers } from '../reportedLedgers.ts';
import { retryWhile } from '../retryWhile.ts';
import { NetworkUnavailable } from '../port.ts';
import {
  EVENTS_PER_PAGE,
  entriesAnswer,
  eventsAnswer,
  feeStatsAnswer,
  networkAnswer,
  sendAnswer,
  simulationAnswer,
  transactionAnswer,
  transactionPageAnswer,
} from './nodeAnswers.ts';
import type { EventPage, LedgerState, SendAnswer, Simulation, TransactionAnswer } from './nodeAnswers.ts';

/** The limit of ledger entries per answer. */
export const MAX_ENTRIES_PER_ASK = 200;
/** No transaction has this hash; the answer about it shows the node's ledgers. */
const HASH_OF_NOTHING = '0'.repeat(64);
/** A page of 200 transactions with all their XDR is well below this. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** The node never supports this method. */
export class MethodMissing extends NetworkUnavailable {}

/** A ledger, or the cursor of the previous page. */
type PageStart = { ledger: bigint } | { cursor: string };

interface EventFilter {
  start: PageStart;
  contract: string;
  topics: string[];
}

export interface StellarNode {
  lastReported: ReportedLedgers['last'];
  /** What it gives as its network's passphrase and protocol, in any form. */
  network(): Promise<{ passphrase: unknown; protocolVersion?: unknown }>;
  ledgerState(): Promise<LedgerState>;
  /**
   * As recent as `entries`: a transaction signed by the time of an older ledger would be too late when it is
   * sent, each time anew.
   */
  presentState(): Promise<LedgerState>;
  transaction(hash: string): Promise<TransactionAnswer>;
  transactionsFrom(start: PageStart): Promise<z.output<typeof transactionPageAnswer>>;
  /**
   * As recent as `entries`. `allowNested` also records authorisations that only arise below the called
   * function.
   */
  simulate(transaction: Transaction, options?: { allowNested: boolean }): Promise<Simulation>;
  send(transaction: Transaction | FeeBumpTransaction): Promise<SendAnswer>;
  /** At most MAX_ENTRIES_PER_ASK keys, as of a ledger not older than any in an answer of the last minute. */
  entries(keys: readonly xdr.LedgerKey[]): Promise<z.output<typeof entriesAnswer>>;
  /** The recent fees of contract transactions for inclusion, in stroops per operation. */
  inclusionFees(): Promise<z.output<typeof feeStatsAnswer>>;
  /** As recent as `entries`. */
  events(filter: EventFilter): Promise<EventPage>;
}

type Options = NodeOptions & Pick<StellarNetworkOptions, 'nowMs' | 'elapsedMs'>;

const TRANSACTIONS_PER_PAGE = 200;

export function createNode(options: Options): StellarNode {
  const ask = createAsk(options);
  const reportedLedgers = createReportedLedgers(options.elapsedMs);
  const { noted, readPresent } = createPresentReads(reportedLedgers);

  const transaction = async (hash: string) => noted(await ask('getTransaction', { hash }, transactionAnswer));
  const ledgerState = () => transaction(HASH_OF_NOTHING);

  return {
    lastReported: reportedLedgers.last,
    network: () => ask('getNetwork', null, networkAnswer),
    ledgerState,
    presentState: () => readPresent(ledgerState),

    transaction,

    transactionsFrom: (start) =>
      ask('getTransactions', pageParams(start, TRANSACTIONS_PER_PAGE), transactionPageAnswer),

    async simulate(simulated, simulating) {
      const authMode = simulating?.allowNested ? 'record_allow_nonroot' : undefined;
      const params = { transaction: simulated.toXDR(), authMode };
      return readPresent(() => ask('simulateTransaction', params, simulationAnswer));
    },

    send: (sent) => ask('sendTransaction', { transaction: sent.toXDR() }, sendAnswer),

    async entries(keys) {
      if (keys.length > MAX_ENTRIES_PER_ASK) {
        throw new RangeError(`${keys.length} ledger entries asked for; at most ${MAX_ENTRIES_PER_ASK}`);
      }
      const params = { keys: keys.map((key) => key.toXDR('base64')) };
      return readPresent(() => ask('getLedgerEntries', params, entriesAnswer));
    },

    inclusionFees: () => ask('getFeeStats', null, feeStatsAnswer),

    events({ start, contract, topics }) {
      const filters = [{ type: 'contract', contractIds: [contract], topics: [topics] }];
      const params = { filters, ...pageParams(start, EVENTS_PER_PAGE) };
      return readPresent(() => ask('getEvents', params, eventsAnswer));
    },
  };
}

/**
 * @returns a function that throws MethodMissing if the node does not have the method, and NetworkUnavailable
 *   if it gives no answer that `schema` accepts
 */
function createAsk({ rpcUrl: url, requestTimeoutMs: timeoutMs, nowMs }: Options) {
  const exchange = createExchange({ url, timeoutMs, maxAnswerBytes: MAX_ANSWER_BYTES, nowMs });
  return async <T>(method: string, params: object | null, schema: z.ZodType<T>): Promise<T> => {
    const answer = await exchange.askAlone({ method, params, read: (result) => schema.parse(result) });
    if ('value' in answer) return answer.value;
    const { code, message } = answer.error;
    const text = `The Stellar node did not answer ${message}`;
    throw code === METHOD_NOT_FOUND ? new MethodMissing(text) : new NetworkUnavailable(text);
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

function pageParams(start: PageStart, limit: number) {
  return 'cursor' in start
    ? { pagination: { cursor: start.cursor, limit } }
    : { startLedger: Number(start.ledger), pagination: { limit } };
}
