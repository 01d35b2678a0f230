/**
 * What a node remembers: closed ledgers, and the transactions and events in them, as far back as it keeps them.
 */
import { xdr } from '@stellar/stellar-sdk';
import { sha256 } from './envelopes.ts';
import type { OpenedTransaction } from './envelopes.ts';

export interface ClosedLedger {
  sequence: number;
  /** Unix seconds. */
  closedAt: bigint;
}

export interface RememberedTransaction {
  transaction: OpenedTransaction;
  ledger: ClosedLedger;
  /** From 1, within its ledger. */
  applicationOrder: number;
  isSuccess: boolean;
  result: xdr.TransactionResult;
  meta: xdr.TransactionMeta;
  events: xdr.ContractEvent[];
  diagnostics: xdr.DiagnosticEvent[];
}

export interface History {
  addLedger(ledger: ClosedLedger): void;
  addTransaction(remembered: RememberedTransaction): void;
  latest(): ClosedLedger;
  /** The ledger itself, or the one before it that was closed one by one (others were skipped). */
  closedAt(sequence: number): bigint;
  /** The oldest ledger that is remembered when `latest` is the newest. */
  oldest(latest: number): number;
  /** By the hash of the envelope or of the transaction inside a fee bump. */
  find(hash: string): RememberedTransaction | null;
  /** Oldest first. */
  transactions(): readonly RememberedTransaction[];
}

export function createHistory(options: {
  genesis: ClosedLedger;
  retentionLedgers: number;
  closeSeconds: bigint;
}): History {
  const { genesis, retentionLedgers, closeSeconds } = options;
  const ledgers: ClosedLedger[] = [genesis];
  const byHash = new Map<string, RememberedTransaction>();
  let remembered: RememberedTransaction[] = [];

  const latest = () => ledgers.at(-1) ?? genesis;
  const oldest = (newest: number) => Math.max(genesis.sequence, newest - retentionLedgers + 1);

  function forget(): void {
    const first = oldest(latest().sequence);
    // The last one before the window stays: the times of skipped ledgers are counted from it.
    while (ledgers[1] && ledgers[1].sequence <= first) ledgers.shift();
    const kept = remembered.findIndex((entry) => entry.ledger.sequence >= first);
    const gone = remembered.slice(0, kept === -1 ? remembered.length : kept);
    for (const { transaction } of gone) {
      byHash.delete(transaction.hash);
      byHash.delete(transaction.innerHash);
    }
    if (gone.length > 0) remembered = remembered.slice(gone.length);
  }

  return {
    addLedger(ledger) {
      ledgers.push(ledger);
      forget();
    },
    addTransaction(entry) {
      remembered.push(entry);
      byHash.set(entry.transaction.hash, entry);
      byHash.set(entry.transaction.innerHash, entry);
    },
    latest,
    closedAt(sequence) {
      const known = ledgers.findLast((ledger) => ledger.sequence <= sequence) ?? genesis;
      return known.closedAt + BigInt(sequence - known.sequence) * closeSeconds;
    },
    oldest,
    find: (hash) => byHash.get(hash) ?? null,
    transactions: () => remembered,
  };
}

export function ledgerHash(passphrase: string, sequence: number): Buffer {
  return sha256(passphrase, ' ledger ', String(sequence));
}

/** The ledger's header, with hashes that only tell ledgers apart. */
export function ledgerHeader(
  ledger: ClosedLedger,
  options: { passphrase: string; protocolVersion: number },
): xdr.LedgerHeader {
  const { passphrase } = options;
  return new xdr.LedgerHeader({
    ledgerVersion: options.protocolVersion,
    previousLedgerHash: ledgerHash(passphrase, ledger.sequence - 1),
    scpValue: new xdr.StellarValue({
      txSetHash: sha256(passphrase, ' set ', String(ledger.sequence)),
      closeTime: new xdr.Uint64(ledger.closedAt),
      upgrades: [],
      ext: xdr.StellarValueExt.stellarValueBasic(),
    }),
    txSetResultHash: Buffer.alloc(32),
    bucketListHash: Buffer.alloc(32),
    ledgerSeq: ledger.sequence,
    totalCoins: new xdr.Int64(500_018_068_120_000_000n),
    feePool: new xdr.Int64(0),
    inflationSeq: 0,
    idPool: new xdr.Uint64(0),
    baseFee: 100,
    baseReserve: 5_000_000,
    maxTxSetSize: 100,
    skipList: [0, 1, 2, 3].map(() => Buffer.alloc(32)),
    ext: new xdr.LedgerHeaderExt(0),
  });
}

/** As much of a ledger's close as clients of `getLatestLedger` look at. */
export function ledgerCloseMeta(header: xdr.LedgerHeader, hash: Buffer): xdr.LedgerCloseMeta {
  return new xdr.LedgerCloseMeta(
    1,
    new xdr.LedgerCloseMetaV1({
      ext: new xdr.LedgerCloseMetaExt(0),
      ledgerHeader: new xdr.LedgerHeaderHistoryEntry({
        hash,
        header,
        ext: new xdr.LedgerHeaderHistoryEntryExt(0),
      }),
      txSet: new xdr.GeneralizedTransactionSet(
        1,
        new xdr.TransactionSetV1({ previousLedgerHash: header.previousLedgerHash(), phases: [] }),
      ),
      txProcessing: [],
      upgradesProcessing: [],
      scpInfo: [],
      totalByteSizeOfLiveSorobanState: new xdr.Uint64(0),
      evictedKeys: [],
      unused: [],
    }),
  );
}
