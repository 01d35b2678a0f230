/**
 * The network's configuration as ledger entries, from which clients read resource prices and limits.
 */
import { xdr } from '@stellar/stellar-sdk';
import { FEES, LIMITS, MEMORY_STATE_PROTOCOL } from './fees.ts';

/** Transactions' worth of each resource per ledger. */
const LEDGER_FACTOR = 100;
const MAX_TTL_LEDGERS = 3_110_400;
/** The minimum life of temporary entries, used nonces included. */
export const MIN_TEMPORARY_TTL_LEDGERS = 17_280;

export function configSettings(options: {
  protocolVersion: number;
  persistentTtl: number;
}): { key: xdr.LedgerKey; data: xdr.LedgerEntryData }[] {
  const entries = [
    xdr.ConfigSettingEntry.configSettingContractComputeV0(computeSettings()),
    xdr.ConfigSettingEntry.configSettingContractLedgerCostV0(ledgerCost()),
    xdr.ConfigSettingEntry.configSettingContractHistoricalDataV0(
      new xdr.ConfigSettingContractHistoricalDataV0({ feeHistorical1Kb: int64(FEES.perHistoricalKilobyte) }),
    ),
    xdr.ConfigSettingEntry.configSettingContractEventsV0(
      new xdr.ConfigSettingContractEventsV0({
        txMaxContractEventsSizeBytes: LIMITS.eventBytes,
        feeContractEvents1Kb: int64(FEES.perEventKilobyte),
      }),
    ),
    xdr.ConfigSettingEntry.configSettingContractBandwidthV0(
      new xdr.ConfigSettingContractBandwidthV0({
        ledgerMaxTxsSizeBytes: LIMITS.transactionBytes * LEDGER_FACTOR,
        txMaxSizeBytes: LIMITS.transactionBytes,
        feeTxSize1Kb: int64(FEES.perTransactionKilobyte),
      }),
    ),
    xdr.ConfigSettingEntry.configSettingStateArchival(archivalSettings(options.persistentTtl)),
    ...(options.protocolVersion >= MEMORY_STATE_PROTOCOL
      ? [xdr.ConfigSettingEntry.configSettingContractLedgerCostExtV0(ledgerCostExtension())]
      : []),
  ];
  return entries.map((entry) => ({
    key: xdr.LedgerKey.configSetting(new xdr.LedgerKeyConfigSetting({ configSettingId: entry.switch() })),
    data: xdr.LedgerEntryData.configSetting(entry),
  }));
}

function computeSettings(): xdr.ConfigSettingContractComputeV0 {
  return new xdr.ConfigSettingContractComputeV0({
    ledgerMaxInstructions: int64(BigInt(LIMITS.instructions * LEDGER_FACTOR)),
    txMaxInstructions: int64(BigInt(LIMITS.instructions)),
    feeRatePerInstructionsIncrement: int64(FEES.perInstructionIncrement),
    txMemoryLimit: 41_943_040,
  });
}

function ledgerCost(): xdr.ConfigSettingContractLedgerCostV0 {
  return new xdr.ConfigSettingContractLedgerCostV0({
    ledgerMaxDiskReadEntries: LIMITS.readEntries * LEDGER_FACTOR,
    ledgerMaxDiskReadBytes: LIMITS.readBytes * LEDGER_FACTOR,
    ledgerMaxWriteLedgerEntries: LIMITS.writeEntries * LEDGER_FACTOR,
    ledgerMaxWriteBytes: LIMITS.writeBytes * LEDGER_FACTOR,
    txMaxDiskReadEntries: LIMITS.readEntries,
    txMaxDiskReadBytes: LIMITS.readBytes,
    txMaxWriteLedgerEntries: LIMITS.writeEntries,
    txMaxWriteBytes: LIMITS.writeBytes,
    feeDiskReadLedgerEntry: int64(FEES.perReadEntry),
    feeWriteLedgerEntry: int64(FEES.perWriteEntry),
    feeDiskRead1Kb: int64(FEES.perReadKilobyte),
    sorobanStateTargetSizeBytes: int64(3_000_000_000n),
    rentFee1KbSorobanStateSizeLow: int64(-17_000n),
    rentFee1KbSorobanStateSizeHigh: int64(10_000n),
    sorobanStateRentFeeGrowthFactor: 5_000,
  });
}

function ledgerCostExtension(): xdr.ConfigSettingContractLedgerCostExtV0 {
  return new xdr.ConfigSettingContractLedgerCostExtV0({
    txMaxFootprintEntries: LIMITS.footprintEntries,
    feeWrite1Kb: int64(FEES.perWriteKilobyte),
  });
}

function archivalSettings(persistentTtl: number): xdr.StateArchivalSettings {
  return new xdr.StateArchivalSettings({
    maxEntryTtl: MAX_TTL_LEDGERS,
    minTemporaryTtl: MIN_TEMPORARY_TTL_LEDGERS,
    minPersistentTtl: persistentTtl,
    persistentRentRateDenominator: int64(1_215n),
    tempRentRateDenominator: int64(2_430n),
    maxEntriesToArchive: 1_000,
    liveSorobanStateSizeWindowSampleSize: 30,
    liveSorobanStateSizeWindowSamplePeriod: 64,
    evictionScanSize: 100_000,
    startingEvictionScanLevel: 7,
  });
}

function int64(value: bigint): xdr.Int64 {
  return new xdr.Int64(value);
}
