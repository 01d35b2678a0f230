/**
 * What transactions cost: the bid to be included, and what further resources add.
 */
import { xdr } from '@stellar/stellar-sdk';
import { NetworkUnavailable } from '../port.ts';
import type { StellarNode } from './node.ts';

/** The least that the network takes for an operation. */
const MIN_INCLUSION_FEE_STROOPS = 100n;
/** Fees and limits of resources change with votes of the validators; they are read again after about an hour. */
const SETTINGS_LAST_LEDGERS = 720n;

/** What the network charges for resources, in stroops, and how much of them a transaction may declare. */
export interface ResourceSettings {
  /** Of 10,000 instructions. */
  feePerInstructionIncrement: bigint;
  feePerWriteEntry: bigint;
  feePerReadEntry: bigint;
  feePerWriteKilobyte: bigint;
  feePerReadKilobyte: bigint;
  /** Of the transaction's own bytes, for its way through the network and for history. */
  feePerTransactionKilobyte: bigint;
  maxInstructions: number;
  maxWriteBytes: number;
  maxReadBytes: number;
  maxWriteEntries: number;
  maxFootprintEntries: number;
  /** So that reading it counts: before protocol 23. */
  isContractDataOnDisk: boolean;
  /** Every temporary entry lives at least so long. */
  minTemporaryTtlLedgers: bigint;
}

/**
 * For nodes that don't show the settings, or not now: more than the public network has charged, less than it has
 * allowed, and the least time to live of public networks.
 */
const ASSUMED_SETTINGS: ResourceSettings = {
  feePerInstructionIncrement: 50n,
  feePerWriteEntry: 20_000n,
  feePerReadEntry: 10_000n,
  feePerWriteKilobyte: 20_000n,
  feePerReadKilobyte: 5_000n,
  feePerTransactionKilobyte: 25_000n,
  maxInstructions: 100_000_000,
  maxWriteBytes: 65_536,
  maxReadBytes: 131_072,
  maxWriteEntries: 25,
  maxFootprintEntries: 40,
  isContractDataOnDisk: true,
  minTemporaryTtlLedgers: 17_280n,
};

/** What most transactions of contracts lately paid, within the cap; the least, at a node that does not tell. */
export async function inclusionFeeStroops(node: StellarNode, capStroops: bigint): Promise<bigint> {
  const usual = (await node.inclusionFees().catch(notShown))?.usualStroops ?? 0n;
  const wanted = usual > MIN_INCLUSION_FEE_STROOPS ? usual : MIN_INCLUSION_FEE_STROOPS;
  return wanted < capStroops ? wanted : capStroops;
}

export type ReadResourceSettings = (latestLedger: bigint) => Promise<ResourceSettings>;

export function createResourceSettings(node: StellarNode): ReadResourceSettings {
  let known: { settings: ResourceSettings; ledger: bigint } | null = null;
  return async (latestLedger) => {
    if (known && latestLedger < known.ledger + SETTINGS_LAST_LEDGERS) return known.settings;
    const settings = await readSettings(node).catch(notShown);
    if (settings) known = { settings, ledger: latestLedger };
    return settings ?? ASSUMED_SETTINGS;
  };
}

/** A call can be made without: it has less room for others then, or waits longer. */
export function notShown(error: unknown): null {
  if (error instanceof NetworkUnavailable) return null;
  throw error;
}

async function readSettings(node: StellarNode): Promise<ResourceSettings | null> {
  const ids = {
    compute: xdr.ConfigSettingId.configSettingContractComputeV0(),
    cost: xdr.ConfigSettingId.configSettingContractLedgerCostV0(),
    costExt: xdr.ConfigSettingId.configSettingContractLedgerCostExtV0(),
    bandwidth: xdr.ConfigSettingId.configSettingContractBandwidthV0(),
    history: xdr.ConfigSettingId.configSettingContractHistoricalDataV0(),
    archival: xdr.ConfigSettingId.configSettingStateArchival(),
  };
  const keyOf = (id: xdr.ConfigSettingId) =>
    xdr.LedgerKey.configSetting(new xdr.LedgerKeyConfigSetting({ configSettingId: id }));
  const { byKey } = await node.entries(Object.values(ids).map(keyOf));
  const settingOf = (id: xdr.ConfigSettingId) => byKey.get(keyOf(id).toXDR('base64'))?.configSetting();

  const compute = settingOf(ids.compute)?.contractCompute();
  const cost = settingOf(ids.cost)?.contractLedgerCost();
  const costExt = settingOf(ids.costExt)?.contractLedgerCostExt();
  const bandwidth = settingOf(ids.bandwidth)?.contractBandwidth();
  const history = settingOf(ids.history)?.contractHistoricalData();
  const archival = settingOf(ids.archival)?.stateArchivalSettings();
  if (!compute || !cost || !bandwidth || !history) return null;
  return {
    feePerInstructionIncrement: compute.feeRatePerInstructionsIncrement().toBigInt(),
    feePerWriteEntry: cost.feeWriteLedgerEntry().toBigInt(),
    feePerReadEntry: cost.feeDiskReadLedgerEntry().toBigInt(),
    feePerReadKilobyte: cost.feeDiskRead1Kb().toBigInt(),
    // Before protocol 23 the fee of written bytes grew with the ledger, and the limit of the footprint was that of reads.
    feePerWriteKilobyte: costExt?.feeWrite1Kb().toBigInt() ?? ASSUMED_SETTINGS.feePerWriteKilobyte,
    feePerTransactionKilobyte: bandwidth.feeTxSize1Kb().toBigInt() + history.feeHistorical1Kb().toBigInt(),
    maxInstructions: Number(compute.txMaxInstructions().toBigInt()),
    maxWriteBytes: cost.txMaxWriteBytes(),
    maxReadBytes: cost.txMaxDiskReadBytes(),
    maxWriteEntries: cost.txMaxWriteLedgerEntries(),
    maxFootprintEntries: costExt?.txMaxFootprintEntries() ?? cost.txMaxDiskReadEntries(),
    isContractDataOnDisk: !costExt,
    minTemporaryTtlLedgers: BigInt(archival?.minTemporaryTtl() ?? ASSUMED_SETTINGS.minTemporaryTtlLedgers),
  };
}
