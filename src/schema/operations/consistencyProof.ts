/**
 * consistencyProof: the proof that a transparency log only grew.
 */
import { proveConsistency, type ConsistencyProof } from '../../resolvers/operations/proveConsistency.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';

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
