/**
 * transparencyLogs: the signed heads of the append-only logs.
 */
import {
  listTransparencyLogs,
  type TransparencyLog,
} from '../../resolvers/operations/listTransparencyLogs.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { moment } from '../core/time.ts';

const TransparencyLogRef = builder.objectRef<TransparencyLog>('TransparencyLog').implement({
  description:
    'An append-only Merkle log (RFC 9162): its hashes, and the records of retirements, are files below /logs/, see docs/transparency.md.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description:
        'Its folder below /logs/: retirements (feed records), transfers (every transfer of the books, purchases among them) or audit ' +
        '(entries of the audit log).',
    }),
    origin: t.exposeString('origin', { description: 'Its name in its checkpoints and in its key.' }),
    leafCount: t.field({
      type: 'LeafNumber',
      description: 'The number of its leaves.',
      resolve: ({ leafCount }) => BigInt(leafCount),
    }),
    rootHash: t.exposeString('rootHash', {
      description: 'The root of the Merkle tree with that many leaves, as 64 hexadecimal digits.',
    }),
    checkpoint: t.exposeString('checkpoint', {
      description:
        'The signed note (C2SP tlog-checkpoint) with `leafCount`, `rootHash` and the network. Keep it, to check later versions of the ' +
        'log against it.',
    }),
    verifierKey: t.exposeString('verifierKey', {
      description: 'The Ed25519 key that signs it, as tools for signed notes take it.',
    }),
    madeAt: t.expose('madeAt', moment('When it grew to that size')),
  }),
});

builder.queryField('transparencyLogs', (t) =>
  t.field({
    ...forPublic(
      'The heads of the public transparency logs, which are a few seconds behind what is committed.',
    ),
    type: [TransparencyLogRef],
    nullable: true,
    resolve: (_root, _args, { dependencies }) => listTransparencyLogs(dependencies),
  }),
);
