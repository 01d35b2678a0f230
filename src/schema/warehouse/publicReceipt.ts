/**
 * publicReceipt: the fields of a receipt that any caller with its address may read.
 */
import { findReceiptByToken, type TokenizedReceipt } from '../../resolvers/warehouse/findReceipt.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { TOKEN_ADDRESS } from '../core/tokenAddress.ts';
import { openPledgeByReceipt } from './receipt.ts';
import { receiptFields } from './receiptFields.ts';

const PublicReceipt = builder.objectRef<TokenizedReceipt>('PublicReceipt').implement({
  description:
    'The public facts of a warehouse receipt: what it stands for, how much of it remains, and whether it is ' +
    'pledged. For everyone who was given its address. Contains nothing about the farmer, the lender or the payout.',
  fields: (t) => ({
    tokenAddress: t.expose('tokenAddress', {
      type: 'Address',
      description: 'The address of the token on the ledger network, by which the receipt is found.',
    }),
    ...receiptFields(t),
    pledged: t.boolean({
      description: 'Whether the receipt is pledged to a lender now.',
      resolve: async ({ id }, _args, context) => (await openPledgeByReceipt(context, id)) !== undefined,
    }),
  }),
});

builder.queryField('publicReceipt', (t) =>
  t.field({
    ...forPublic(
      'The public facts of the warehouse receipt whose token has this address, without personal data. Null when ' +
        'there is no such receipt.',
    ),
    type: PublicReceipt,
    args: { tokenAddress: t.arg(TOKEN_ADDRESS) },
    resolve: (_root, { tokenAddress }, { dependencies }) => findReceiptByToken(dependencies, tokenAddress),
  }),
);
