/**
 * publicReceipt: the fields of a receipt that everyone who has its address may read.
 */
import { findOpenPledges } from '../../resolvers/warehouse/findPledge.ts';
import { findReceiptByToken, type TokenizedReceipt } from '../../resolvers/warehouse/findReceipt.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { TOKEN_ADDRESS } from '../core/tokenAddress.ts';
import { receiptFields } from './receiptFields.ts';

const PublicReceipt = builder.objectRef<TokenizedReceipt>('PublicReceipt').implement({
  description:
    'What a warehouse receipt stands for, what of it is left, and whether it is pledged: for those who were given its address. ' +
    'It has nothing of the farmer, the lender or the payout.',
  fields: (t) => ({
    tokenAddress: t.expose('tokenAddress', {
      type: 'Address',
      description: "The token's address on the ledger network, by which it is asked for.",
    }),
    ...receiptFields(t),
    pledged: t.boolean({
      description: 'Whether it is pledged to a lender now.',
      resolve: async ({ id }, _args, { dependencies }) => (await findOpenPledges(dependencies, [id])).has(id),
    }),
  }),
});

builder.queryField('publicReceipt', (t) =>
  t.field({
    ...forPublic(
      'What a warehouse receipt stands for, by the address of its token, without anything personal; null when there is none.',
    ),
    type: PublicReceipt,
    nullable: true,
    args: { tokenAddress: t.arg(TOKEN_ADDRESS) },
    resolve: (_root, { tokenAddress }, { dependencies }) => findReceiptByToken(dependencies, tokenAddress),
  }),
);
