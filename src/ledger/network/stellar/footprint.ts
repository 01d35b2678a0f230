/**
 * Room in a retirement's footprint for other retirements that land before it.
 *
 * A retirement is written under its index, which is known only on landing. Simulated on one state, all
 * retirements of a token name the same index, and all but the first to land would write outside of their
 * footprints and fail. So the footprint names the following indexes as well. What is not used is not paid for,
 * but for the entry's place in the footprint: its fee is added, and the rest of the resource fee is given back.
 */
import { xdr } from '@stellar/stellar-sdk';
import type { Address } from '../port.ts';
import { retirementKey } from './addresses.ts';
import type { FootprintSettings } from './fees.ts';
import type { Resources } from './node.ts';

const BYTES_PER_KILOBYTE = 1024n;

/** `spare`: how many further retirements of the token may land first; fewer when the network's limits say so. */
export function widenRetirement(
  resources: Resources,
  token: Address,
  spare: number,
  settings: FootprintSettings,
): Resources {
  const data = xdr.SorobanTransactionData.fromXDR(resources.data.toXDR());
  const footprint = data.resources().footprint();
  const named = footprint.readWrite();
  const index = named.map((key) => retirementIndexIn(key, token)).find((found) => found !== null);
  if (index === undefined || index === null) return resources;

  const room = Math.min(
    settings.maxWriteEntries - named.length,
    settings.maxFootprintEntries - named.length - footprint.readOnly().length,
  );
  const count = Math.max(0, Math.min(spare, room));
  const further = Array.from({ length: count }, (_, at) => retirementKey(token, index + 1 + at));
  // At the end: archived entries are named by their places in this list.
  footprint.readWrite([...named, ...further]);
  const feeStroops = resources.feeStroops + feeOf(further, settings);
  data.resourceFee(xdr.Int64.fromString(String(feeStroops)));
  return { data, feeStroops };
}

function feeOf(keys: readonly xdr.LedgerKey[], settings: FootprintSettings): bigint {
  const bytes = BigInt(keys.reduce((sum, key) => sum + key.toXDR().length, 0));
  const perEntry = settings.feePerWriteEntry + settings.feePerReadEntry;
  return (
    BigInt(keys.length) * perEntry +
    (bytes * settings.feePerKilobyte + BYTES_PER_KILOBYTE - 1n) / BYTES_PER_KILOBYTE
  );
}

function retirementIndexIn(key: xdr.LedgerKey, token: Address): number | null {
  if (key.switch().name !== 'contractData') return null;
  const parts = key.contractData().key();
  const index = parts.switch().name === 'scvVec' ? parts.vec()?.[1] : undefined;
  if (index?.switch().name !== 'scvU32') return null;
  const ours = retirementKey(token, index.u32());
  return key.toXDR('base64') === ours.toXDR('base64') ? index.u32() : null;
}
