/**
 * cashOutSessions: a farmer's own, or all of them for operators.
 */
import { findReceiptByToken } from '../resolvers/findReceipt.ts';
import { cashOutCursor, listCashOuts } from '../resolvers/listCashOuts.ts';
import { forRoles } from './access.ts';
import { isOperator, subjectOf } from './caller.ts';
import { CashOutSessionRef, CashOutStateEnum } from './cashOutSession.ts';
import { notFound } from './notFound.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from './paging.ts';
import { builder } from './platform.ts';
import { address } from './text.ts';

const CashOutFilterInput = builder.inputType('CashOutFilter', {
  description: 'Only cash-outs that have all of these.',
  fields: (t) => ({
    receiptTokenAddress: t.string({
      validate: { schema: address },
      description: 'Of the receipt with this token.',
    }),
    state: t.field({ type: CashOutStateEnum, description: 'In this state.' }),
  }),
});

const cursors = keysetCursors('cashOutSessions', cursorValues.moment);

builder.queryField('cashOutSessions', (t) =>
  t.connection(
    {
      ...forRoles(
        ['farmer', 'operator'],
        'Cash-outs, newest first, a page at a time. Farmers see their own, operators all. Errors: NOT_FOUND for a receipt ' +
          'that does not exist.',
      ),
      type: CashOutSessionRef,
      args: { filter: t.arg({ type: CashOutFilterInput, description: 'Which cash-outs.' }) },
      resolve: async (_root, args, { caller, dependencies }) => {
        const { receiptTokenAddress, state } = args.filter ?? {};
        const receipt =
          receiptTokenAddress == null ? null : await findReceiptByToken(dependencies, receiptTokenAddress);
        if (receiptTokenAddress != null && receipt === null) throw notFound('receipt', 'tokenAddress');
        const visibleTo = isOperator(caller) ? null : subjectOf(caller);
        const filter = { visibleTo, state, receiptId: receipt?.id };
        return pageOf(args, cursors, (page) => listCashOuts(dependencies, filter, page), cashOutCursor);
      },
    },
    ...listNames('CashOutSession'),
  ),
);
