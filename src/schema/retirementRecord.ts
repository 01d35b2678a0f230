/**
 * RetirementRecord: what the token itself says of one retirement, whoever made it.
 */
import type { FeedRecord } from '../feed/followFeed.ts';
import { BASE_UNITS_PER_WHOLE, TOKEN_DECIMALS } from '../ledger/units.ts';
import { builder } from './platform.ts';
import { projectOf, ProjectRef } from './project.ts';

export const RetirementRecordRef = builder.objectRef<FeedRecord>('RetirementRecord').implement({
  description:
    "One retirement as the project's token keeps it on the ledger network: public, and never changed.",
  fields: (t) => ({
    tokenAddress: t.exposeString('tokenAddress', { description: "The token's address." }),
    index: t.exposeInt('index', {
      description: "Its place in the token's retirement list, from 0 without a hole.",
    }),
    retiredBy: t.exposeString('retiredBy', {
      description: "The address whose balance was burned: the platform's custody, or a holder's own.",
    }),
    amount: t.expose('amount', {
      type: 'BaseUnits',
      description: 'What was burned, in base units (10^18 are a tonne).',
    }),
    tonnes: t.field({
      type: 'Decimal',
      description: 'What was burned, in tonnes CO2e; has decimals only when a holder burned part of a tonne.',
      resolve: ({ amount }) => decimalTonnes(amount),
    }),
    timestamp: t.expose('timestamp', {
      type: 'UnixTime',
      description: "When it was burned by the network's clock, in Unix seconds.",
    }),
    beneficiary: t.exposeString('beneficiary', { description: 'Who it is for: a label, not an address.' }),
    note: t.exposeString('note', { description: 'The remark; may be empty.' }),
    txHash: t.exposeString('txHash', {
      nullable: true,
      description:
        'The hash of the burn. The record itself does not name it: null until this platform or the indexer has told it.',
    }),
    project: t.field({
      type: ProjectRef,
      description: 'The project whose credits were retired.',
      resolve: ({ projectId }, _args, context) => projectOf(context, projectId),
    }),
  }),
});

/** Base units as tonnes, exactly. A stranger's record may hold a negative amount: the token takes them. */
export function decimalTonnes(amount: bigint): string {
  if (amount < 0n) return `-${decimalTonnes(-amount)}`;
  const whole = amount / BASE_UNITS_PER_WHOLE;
  const rest = (amount % BASE_UNITS_PER_WHOLE).toString().padStart(TOKEN_DECIMALS, '0').replace(/0+$/, '');
  return rest === '' ? whole.toString() : `${whole}.${rest}`;
}
