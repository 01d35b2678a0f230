/**
 * The signed transactions that carried something to the network.
 */
import { unixSeconds } from '../clock.ts';
import type { SubjectTransaction } from '../resolvers/findRetirement.ts';
import { builder } from './platform.ts';

const NetworkTransactionState = builder.enumType('NetworkTransactionState', {
  description: 'What the network has said about a signed transaction.',
  values: {
    OPEN: { description: 'Sent, or about to be; it may still land.' },
    LANDED: { description: 'Final, with its effect.' },
    REFUSED: { description: 'Final, without effect: the contract refused it.' },
    DEAD: { description: 'Proved unable to land, now or later.' },
  },
});

export const NetworkTransactionRef = builder.objectRef<SubjectTransaction>('NetworkTransaction').implement({
  description: 'One signed transaction on the ledger network.',
  fields: (t) => ({
    txHash: t.exposeString('txHash', { description: 'Its hash, known since before it was sent.' }),
    kind: t.exposeString('kind', { description: 'The contract call: deployCarbonCredit, mint, retire, …' }),
    state: t.expose('state', {
      type: NetworkTransactionState,
      description: 'What the network has said about it.',
    }),
    signedAt: t.field({
      type: 'UnixTime',
      description: 'When it was signed and stored, in Unix seconds.',
      resolve: ({ signedAt }) => unixSeconds(signedAt),
    }),
    decidedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When the network’s final word was read, in Unix seconds; null while it is open.',
      resolve: ({ decidedAt }) => (decidedAt === null ? null : unixSeconds(decidedAt)),
    }),
  }),
});

/** The hash to answer with: of the transaction that landed, or of the latest that may still. */
export function hashOf(transactions: readonly SubjectTransaction[], kind: string): string | null {
  const ofKind = transactions.filter((transaction) => transaction.kind === kind);
  return (ofKind.find(({ state }) => state === 'LANDED') ?? ofKind.at(-1))?.txHash ?? null;
}
