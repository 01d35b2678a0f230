/**
 * NetworkTransaction: one signed transaction of a submission.
 */
import type { NetworkCallKind } from '../../ledger/network/port.ts';
import { readTransactions, type SubmissionTransaction } from '../../resolvers/carbon/findRetirement.ts';
import type { Needs } from '../../resolvers/core/dependencies.ts';
import { builder } from '../core/builder.ts';
import { kindOf, NetworkCallKindEnum } from './networkCallKind.ts';
import { moment, momentOrNull } from '../core/time.ts';

const NetworkTransactionState = builder.enumType('NetworkTransactionState', {
  description: 'State of a signed transaction on the network.',
  values: {
    OPEN: { description: 'Sent, or about to be sent; it may still land.' },
    LANDED: { description: 'Final, and effective.' },
    REFUSED: { description: 'Final, and without effect: the contract refused it.' },
    DEAD: {
      description:
        'Proved to have no effect, now or later: it can land no more, or it landed without effect.',
    },
  },
});

export const NetworkTransactionRef = builder
  .objectRef<SubmissionTransaction>('NetworkTransaction')
  .implement({
    description: 'One signed transaction on the ledger network.',
    fields: (t) => ({
      txHash: t.exposeString('txHash', { description: 'Its hash, stored before it was sent.' }),
      kind: t.field({
        type: NetworkCallKindEnum,
        description: 'Which contract call it makes.',
        resolve: kindOf,
      }),
      state: t.expose('state', {
        type: NetworkTransactionState,
        description: 'Its state on the network.',
      }),
      signedAt: t.expose('signedAt', moment('When it was signed and stored')),
      decidedAt: t.expose(
        'decidedAt',
        momentOrNull('When its final outcome was read from the network', 'null while it is open'),
      ),
    }),
  });

/** The hash of the transaction of this kind that landed for a target, or else of the latest one signed. */
export async function hashOf(
  deps: Needs<'db'>,
  targetId: string,
  kind: NetworkCallKind,
): Promise<string | null> {
  const ofKind = (await readTransactions(deps, targetId)).filter((transaction) => transaction.kind === kind);
  return (ofKind.find(({ state }) => state === 'LANDED') ?? ofKind.at(-1))?.txHash ?? null;
}
