/**
 * RetirementRecord.inclusionProof, Purchase.inclusionProof: the proof that the record or purchase is in the
 * transparency log of retirements or of transfers.
 */
import {
  leafIndexOf,
  proveRecords,
  proveTransfers,
  type InclusionProof,
} from '../../transparency/inclusion.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import { PurchaseRef } from './purchase.ts';
import { RetirementRecordRef } from './retirementRecord.ts';

const InclusionProofRef = builder.objectRef<InclusionProof>('InclusionProof').implement({
  description:
    'The proof that an entry is in a transparency log (RFC 9162, section 2.1.3): the hash of the entry and the ' +
    'hashes of the proof lead to the root that the checkpoint has signed. docs/transparency.md describes how to ' +
    'check the proof without this server.',
  fields: (t) => ({
    leafIndex: t.field({
      type: 'LeafNumber',
      description: "The zero-based index of the entry's leaf.",
      resolve: ({ leafIndex }) => BigInt(leafIndex),
    }),
    entry: t.exposeString('entry', {
      description:
        "The hashed content of the leaf: canonical JSON (RFC 8785) of the token's record, or of the transfer in the books.",
    }),
    hashes: t.stringList({
      description: 'The hashes that lead from the leaf to the root, each as 64 hexadecimal digits.',
      resolve: ({ hashes }) => hashes.map((hash) => hash.toString('hex')),
    }),
    treeSize: t.field({
      type: 'LeafNumber',
      description: 'The number of leaves under the root.',
      resolve: ({ treeSize }) => BigInt(treeSize),
    }),
    rootHash: t.string({
      description: 'The root hash, as 64 hexadecimal digits.',
      resolve: ({ rootHash }) => rootHash.toString('hex'),
    }),
    checkpoint: t.exposeString('checkpoint', {
      description:
        'The signed note (C2SP tlog-checkpoint) with the root, the number of leaves and the network.',
    }),
  }),
});

const proofOfRecord = createBatch(proveRecords);
const proofOfTransfer = createBatch(proveTransfers);

builder.objectFields(RetirementRecordRef, (t) => ({
  inclusionProof: t.field({
    type: InclusionProofRef,
    nullable: true,
    description:
      'The proof that the record is in the transparency log of retirements, against the newest head; the proof ' +
      'changes as the log grows. Null for some seconds after the platform has read the record.',
    resolve: (record, _args, context) => proofOfRecord(context, Number(leafIndexOf(record))),
  }),
}));

builder.objectFields(PurchaseRef, (t) => ({
  inclusionProof: t.field({
    type: InclusionProofRef,
    nullable: true,
    description:
      'The proof that the purchase is in the transparency log of transfers, against the newest head. The entries ' +
      'of that log are not public. Null for some seconds after the purchase is booked.',
    // A purchase is a transfer. Its entry shows the buyer nothing about other buyers, unlike the entry of a
    // credit transfer.
    resolve: ({ id }, _args, context) => proofOfTransfer(context, id),
  }),
}));
