/**
 * What transactions cost: the bid to be included, and what each further ledger entry of a footprint adds.
 */
import { xdr } from '@stellar/stellar-sdk';
import type { StellarNode } from './node.ts';

/** The least that the network takes for an operation. */
const MIN_INCLUSION_FEE_STROOPS = 100n;
/** The fees and limits of entries change with votes of the validators; they are read again after about an hour. */
const SETTINGS_LAST_LEDGERS = 720n;

/** What the network charges for footprints, and how large they may be. */
export interface FootprintSettings {
  feePerWriteEntry: bigint;
  feePerReadEntry: bigint;
  /** Of the transaction's own bytes, for its way through the network and for history. */
  feePerKilobyte: bigint;
  maxWriteEntries: number;
  maxFootprintEntries: number;
}

/** For nodes that don't show the settings: more than the public network has charged, fewer than it has allowed. */
const ASSUMED_SETTINGS: FootprintSettings = {
  feePerWriteEntry: 20_000n,
  feePerReadEntry: 10_000n,
  feePerKilobyte: 25_000n,
  maxWriteEntries: 25,
  maxFootprintEntries: 40,
};

/** What most transactions of contracts lately bid, within the cap. */
export async function inclusionFeeStroops(node: StellarNode, capStroops: bigint): Promise<bigint> {
  const usual = await node.usualInclusionFeeStroops();
  const wanted = usual > MIN_INCLUSION_FEE_STROOPS ? usual : MIN_INCLUSION_FEE_STROOPS;
  return wanted < capStroops ? wanted : capStroops;
}

export function createFootprintSettings(
  node: StellarNode,
): (latestLedger: bigint) => Promise<FootprintSettings> {
  let known: { settings: FootprintSettings; ledger: bigint } | null = null;
  return async (latestLedger) => {
    if (known && latestLedger < known.ledger + SETTINGS_LAST_LEDGERS) return known.settings;
    known = { settings: await readSettings(node), ledger: latestLedger };
    return known.settings;
  };
}

async function readSettings(node: StellarNode): Promise<FootprintSettings> {
  const ids = {
    cost: xdr.ConfigSettingId.configSettingContractLedgerCostV0(),
    costExt: xdr.ConfigSettingId.configSettingContractLedgerCostExtV0(),
    bandwidth: xdr.ConfigSettingId.configSettingContractBandwidthV0(),
    history: xdr.ConfigSettingId.configSettingContractHistoricalDataV0(),
  };
  const keyOf = (id: xdr.ConfigSettingId) =>
    xdr.LedgerKey.configSetting(new xdr.LedgerKeyConfigSetting({ configSettingId: id }));
  const { byKey } = await node.entries(Object.values(ids).map(keyOf));
  const settingOf = (id: xdr.ConfigSettingId) => byKey.get(keyOf(id).toXDR('base64'))?.configSetting();

  const cost = settingOf(ids.cost)?.contractLedgerCost();
  const bandwidth = settingOf(ids.bandwidth)?.contractBandwidth();
  const history = settingOf(ids.history)?.contractHistoricalData();
  if (!cost || !bandwidth || !history) return ASSUMED_SETTINGS;
  const maxWriteEntries = cost.txMaxWriteLedgerEntries();
  return {
    feePerWriteEntry: cost.feeWriteLedgerEntry().toBigInt(),
    feePerReadEntry: cost.feeDiskReadLedgerEntry().toBigInt(),
    feePerKilobyte: bandwidth.feeTxSize1Kb().toBigInt() + history.feeHistorical1Kb().toBigInt(),
    maxWriteEntries,
    // Before protocol 23 the limit was that of reads.
    maxFootprintEntries:
      settingOf(ids.costExt)?.contractLedgerCostExt().txMaxFootprintEntries() ?? cost.txMaxDiskReadEntries(),
  };
}
