/**
 * The resources and the fee that a simulation proposes for a transaction.
 */
import { xdr } from '@stellar/stellar-sdk';
import { entryCounts, nonRefundableFee } from './fees.ts';
import type { Resources } from './fees.ts';
import type { Footprint } from './storage.ts';

interface Needs {
  footprint: Footprint;
  used: Pick<Resources, 'instructions' | 'readBytes' | 'writeBytes'>;
  /** Places in `readWrite` of what the transaction restores by itself, ascending. */
  restoredIndexes: readonly number[];
  /** With the authorisation that it needs, as yet unsigned. */
  operation: xdr.OperationBody;
  /** Stroops. */
  refundable: bigint;
}

/** Signatures and preconditions, as many as a transaction may have. */
const ENVELOPE_BYTES = 1_900;

export function estimate(needs: Needs, protocolVersion: number): xdr.SorobanTransactionData {
  const { footprint, restoredIndexes, used } = needs;
  const resources: Resources = {
    ...used,
    instructions:
      used.instructions === 0 ? 0 : Math.max(Math.ceil(used.instructions * 1.04), used.instructions + 50_000),
    ...entryCounts(footprint, restoredIndexes.length, protocolVersion),
  };
  const unpriced = sorobanData(footprint, resources, 0n, restoredIndexes);
  const bytes = ENVELOPE_BYTES + needs.operation.toXDR().length + unpriced.toXDR().length;
  const fee =
    nonRefundableFee(resources, Math.max(Math.ceil(bytes * 1.1), bytes + 500)) +
    (needs.refundable * 115n + 99n) / 100n;
  return sorobanData(footprint, resources, fee, restoredIndexes);
}

function sorobanData(
  footprint: Footprint,
  resources: Resources,
  fee: bigint,
  restoredIndexes: readonly number[],
): xdr.SorobanTransactionData {
  const ext =
    restoredIndexes.length === 0
      ? new xdr.SorobanTransactionDataExt(0)
      : new xdr.SorobanTransactionDataExt(
          1,
          new xdr.SorobanResourcesExtV0({ archivedSorobanEntries: [...restoredIndexes] }),
        );
  return new xdr.SorobanTransactionData({
    ext,
    resources: new xdr.SorobanResources({
      footprint: new xdr.LedgerFootprint({
        readOnly: [...footprint.readOnly],
        readWrite: [...footprint.readWrite],
      }),
      instructions: resources.instructions,
      diskReadBytes: resources.readBytes,
      writeBytes: resources.writeBytes,
    }),
    resourceFee: new xdr.Int64(fee),
  });
}
