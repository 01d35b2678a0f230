/**
 * NetworkTransaction: one signed transaction of a submission.
 */
import type { NetworkCallKind } from '../../ledger/network/port.ts';
import { readTransactions, type SubmissionTransaction } from '../../resolvers/carbon/findRetirement.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import type { Context } from '../core/context.ts';
import { kindOf, NetworkCallKindEnum } from './networkCallKind.ts';
import { moment, momentOrNull } from '../core/time.ts';

const NetworkTransactionState = enumOf(
  'NetworkTransactionState',
  'The state of a signed transaction on the network.',
  {
    OPEN: 'The transaction was sent or is about to be sent, and may still land.',
    LANDED: 'The transaction is final and had its effect.',
    REFUSED: 'The transaction is final and had no effect: the contract refused it.',
    DEAD: 'The transaction is proved to have no effect, now or later: it can no longer land, or it landed without effect.',
  },
);

export const NetworkTransactionRef = builder
  .objectRef<SubmissionTransaction>('NetworkTransaction')
  .implement({
    description: 'One signed transaction on the ledger network.',
    fields: (t) => ({
      txHash: t.exposeString('txHash', {
        description: 'The hash of the transaction, stored before the transaction was sent.',
      }),
      kind: t.field({
        type: NetworkCallKindEnum,
        description: 'The kind of contract call that the transaction makes.',
        resolve: kindOf,
      }),
      state: t.expose('state', {
        type: NetworkTransactionState,
        description: 'The state of the transaction on the network.',
      }),
      signedAt: t.expose('signedAt', moment('The time the transaction was signed and stored')),
      decidedAt: t.expose(
        'decidedAt',
        momentOrNull(
          'The time the final outcome was read from the network',
          'Null while the transaction is open',
        ),
      ),
    }),
  });

const transactionsOfTarget = createBatch(readTransactions);

/** All signed transactions of a submission's target, oldest first. */
export async function readSigned(context: Context, targetId: string): Promise<SubmissionTransaction[]> {
  return (await transactionsOfTarget(context, targetId)) ?? [];
}

/** The field `transactions` of an object that submissions are for. */
export function transactionsOf(description: string) {
  const resolve = ({ id }: { id: string }, _args: object, context: Context) => readSigned(context, id);
  return { type: [NetworkTransactionRef] as [typeof NetworkTransactionRef], description, resolve };
}

/** The hash of the transaction of this kind that landed for a target, or else of the latest one signed. */
export async function hashOf(
  context: Context,
  targetId: string,
  kind: NetworkCallKind,
): Promise<string | null> {
  const ofKind = (await readSigned(context, targetId)).filter((transaction) => transaction.kind === kind);
  return (ofKind.find(({ state }) => state === 'LANDED') ?? ofKind.at(-1))?.txHash ?? null;
}
