/**
 * The network: its ledger, the transactions that wait for the next one, and how that closes.
 */
import type { xdr } from '@stellar/stellar-sdk';
import { openEnvelope, sha256 } from './envelopes.ts';
import type { OpenedTransaction } from './envelopes.ts';
import { BASE_FEE } from './fees.ts';
import { createHistory } from './history.ts';
import type { ClosedLedger, History } from './history.ts';
import type { CodeLibrary, LedgerInfo } from './host.ts';
import { land } from './landing.ts';
import { idOf } from './ledgerKeys.ts';
import type { EntryId } from './ledgerKeys.ts';
import { createLedgerState, createOverlay } from './ledgerState.ts';
import type { EntryReader, LedgerState, Overlay, StoredEntry } from './ledgerState.ts';
import { transactionMeta } from './meta.ts';
import { createQueue } from './queue.ts';
import type { Submission, TransactionQueue } from './queue.ts';
import { inclusionFee, operationCount, rejectionOf } from './validity.ts';

interface ChainOptions {
  passphrase: string;
  protocolVersion: number;
  library: CodeLibrary;
  genesis: ClosedLedger;
  closeSeconds: bigint;
  persistentTtlLedgers: number;
  retentionLedgers: number;
  maxTransactionsPerLedger: number;
  queueTimeoutLedgers: number;
  showsDiagnostics: boolean;
}

export interface Chain {
  readonly passphrase: string;
  readonly protocolVersion: number;
  readonly history: History;
  readonly queue: TransactionQueue;
  /** The state as of a ledger that has closed. */
  stateAt(ledger: number): EntryReader;
  open(base64: string): OpenedTransaction | null;
  submit(transaction: OpenedTransaction): Submission;
  closeLedger(): ClosedLedger;
  /** As if this many empty ledgers had closed. */
  skipLedgers(count: number): ClosedLedger;
  /** Ledger time passes without a ledger: the next one closes this much later. */
  passTime(seconds: bigint): void;
  /** Changes entries from outside, in a ledger of their own. */
  edit(change: (state: Overlay, ledger: number) => void): void;
  /** The minimum bid of an operation for inclusion in a ledger. */
  setInclusionPrice(stroops: bigint): void;
  inclusionPrice(): bigint;
  onLedger(listener: (ledger: ClosedLedger) => void): void;
}

export function createChain(options: ChainOptions): Chain {
  const { passphrase, protocolVersion, closeSeconds } = options;
  const state: LedgerState = createLedgerState();
  const history = createHistory(options);
  const queue = createQueue({ timeoutLedgers: options.queueTimeoutLedgers });
  const listeners: ((ledger: ClosedLedger) => void)[] = [];
  let inclusionPrice = BASE_FEE;
  let extraSeconds = 0n;

  function nextLedger(): ClosedLedger {
    const { sequence, closedAt } = history.latest();
    const next = { sequence: sequence + 1, closedAt: closedAt + closeSeconds + extraSeconds };
    extraSeconds = 0n;
    return next;
  }

  /** The highest bids among the transactions that are valid by the new ledger's clock, in pseudo-random order. */
  function chosenFor(ledger: ClosedLedger): OpenedTransaction[] {
    const context = { state, closedAt: ledger.closedAt, protocolVersion };
    const salt = String(ledger.sequence);
    return queue
      .waiting()
      .filter((transaction) => feeRate(transaction) >= inclusionPrice && !rejectionOf(transaction, context))
      .toSorted((a, b) => Number(feeRate(b) - feeRate(a)))
      .slice(0, options.maxTransactionsPerLedger)
      .map((transaction) => ({ transaction, order: sha256(salt, transaction.hash).toString('hex') }))
      .toSorted((a, b) => (a.order < b.order ? -1 : 1))
      .map(({ transaction }) => transaction);
  }

  function apply(
    transaction: OpenedTransaction,
    ledger: ClosedLedger,
    order: number,
    overlay: Overlay,
  ): void {
    const info: LedgerInfo = { ...ledger, passphrase };
    const before = createOverlay(overlay);
    const deps = {
      library: options.library,
      persistentTtl: options.persistentTtlLedgers,
      protocolVersion,
      inclusionPrice,
    };
    const landed = land(deps, transaction, info, before);
    history.addTransaction({
      transaction,
      ledger,
      applicationOrder: order,
      isSuccess: landed.isSuccess,
      result: landed.result,
      meta: transactionMeta(landed, options),
      events: landed.events,
      diagnostics: options.showsDiagnostics ? landed.diagnostics : [],
    });
    overlay.merge(before.changes());
  }

  function announce(ledger: ClosedLedger): ClosedLedger {
    history.addLedger(ledger);
    for (const listener of listeners) listener(ledger);
    return ledger;
  }

  return {
    passphrase,
    protocolVersion,
    history,
    queue,
    stateAt: (ledger) => (ledger >= history.latest().sequence ? state : state.asOf(ledger)),
    open: (base64) => openEnvelope(base64, passphrase),
    submit(transaction) {
      const { sequence, closedAt } = history.latest();
      return queue.submit(transaction, { state, closedAt, protocolVersion }, sequence);
    },
    closeLedger() {
      const ledger = nextLedger();
      const chosen = chosenFor(ledger);
      const overlay = createOverlay(state);
      for (const [index, transaction] of chosen.entries()) apply(transaction, ledger, index + 1, overlay);
      state.commit(ledger.sequence, overlay.changes());
      queue.settle(chosen, { state, closedAt: ledger.closedAt, protocolVersion }, ledger.sequence);
      return announce(ledger);
    },
    skipLedgers(count) {
      const { sequence, closedAt } = history.latest();
      return announce({
        sequence: sequence + count,
        closedAt: closedAt + BigInt(count) * closeSeconds,
      });
    },
    passTime(seconds) {
      extraSeconds += seconds;
    },
    edit(change) {
      const ledger = nextLedger();
      const overlay = createOverlay(state);
      change(overlay, ledger.sequence);
      state.commit(ledger.sequence, overlay.changes());
      announce(ledger);
    },
    setInclusionPrice(stroops) {
      inclusionPrice = stroops;
    },
    inclusionPrice: () => inclusionPrice,
    onLedger: (listener) => void listeners.push(listener),
  };
}

/** An entry for the ledger, with the id it is kept under. */
export function storedEntry(
  key: xdr.LedgerKey,
  data: xdr.LedgerEntryData,
  lastModified: number,
  liveUntil: number | null,
): [EntryId, StoredEntry] {
  return [idOf(key), { key, data, lastModified, liveUntil }];
}

function feeRate(transaction: OpenedTransaction): bigint {
  return inclusionFee(transaction) / operationCount(transaction);
}
