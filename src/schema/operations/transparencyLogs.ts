/**
 * transparencyLogs: the signed heads of the append-only logs. consistencyProof: the proof that one only grew.
 */
import {
  listTransparencyLogs,
  type TransparencyLog,
  proveConsistency,
  type ConsistencyProof,
} from '../../resolvers/operations/transparencyLogs.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { moment } from '../core/time.ts';

const TransparencyLogRef = builder.objectRef<TransparencyLog>('TransparencyLog').implement({
  description:
    'An append-only Merkle log (RFC 9162). The hashes of the log and the records of retirements are files below ' +
    '/logs/: see docs/transparency.md.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description:
        'The folder of the log below /logs/: retirements (records of the feed), transfers (all transfers of the ' +
        'books, including purchases) or audit (entries of the audit log).',
    }),
    origin: t.exposeString('origin', {
      description: 'The name of the log in its checkpoints and in its key.',
    }),
    treeSize: t.field({
      type: 'LeafNumber',
      description: 'The number of leaves of the log.',
      resolve: ({ treeSize }) => BigInt(treeSize),
    }),
    rootHash: t.exposeString('rootHash', {
      description: 'The root hash of the Merkle tree with `treeSize` leaves, as 64 hexadecimal digits.',
    }),
    checkpoint: t.exposeString('checkpoint', {
      description:
        'The signed note (C2SP tlog-checkpoint) with `treeSize`, `rootHash` and the network. Keep it to check ' +
        'later versions of the log against it.',
    }),
    verifierKey: t.exposeString('verifierKey', {
      description: 'The Ed25519 key that signs the checkpoint, in the format of tools for signed notes.',
    }),
    updatedAt: t.expose('updatedAt', moment('The time the log grew to this size')),
  }),
});

builder.queryField('transparencyLogs', (t) =>
  t.field({
    ...forPublic(
      'The heads of the public transparency logs, which are a few seconds behind the committed data.',
    ),
    type: [TransparencyLogRef],
    resolve: (_root, _args, { dependencies }) => listTransparencyLogs(dependencies),
  }),
);

const ConsistencyProofRef = builder.objectRef<ConsistencyProof>('ConsistencyProof').implement({
  description:
    'The proof that a transparency log only grew between two sizes (RFC 9162, section 2.1.4): its hashes lead ' +
    'to the roots of both sizes.',
  fields: (t) => ({
    treeSize: t.field({
      type: 'LeafNumber',
      description: 'The number of leaves of the later tree.',
      resolve: ({ treeSize }) => BigInt(treeSize),
    }),
    hashes: t.exposeStringList('hashes', {
      description:
        'The hashes of the proof, each as 64 hexadecimal digits. Empty when both sizes are the same.',
    }),
    checkpoint: t.exposeString('checkpoint', {
      nullable: true,
      description: 'The signed note with the later root. Null unless the later root is the newest one.',
    }),
  }),
});

builder.queryField('consistencyProof', (t) =>
  t.field({
    ...forPublic(
      'The proof that a log only grew since an earlier checkpoint. Errors: NOT_FOUND; BAD_USER_INPUT (the log ' +
        'does not have these sizes).',
    ),
    type: ConsistencyProofRef,
    args: {
      log: t.arg.string({
        required: true,
        description: 'The name of the log, as in `transparencyLogs`.',
      }),
      fromTreeSize: t.arg({
        type: 'LeafNumber',
        required: true,
        description: 'The number of leaves of the earlier checkpoint, from 1.',
      }),
      toTreeSize: t.arg({
        type: 'LeafNumber',
        description:
          'The number of leaves of the later tree. Defaults to the number of leaves of the newest head.',
      }),
    },
    resolve: (_root, { log, fromTreeSize: from, toTreeSize: to }, { dependencies }) =>
      proveConsistency(dependencies, {
        log,
        fromTreeSize: Number(from),
        toTreeSize: to == null ? to : Number(to),
      }),
  }),
);
