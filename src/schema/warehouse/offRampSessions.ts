/**
 * offRampSessions: a farmer's own, or all of them for operators.
 */
import { findReceiptByToken } from '../../resolvers/warehouse/findReceipt.ts';
import {
  countOffRampSessions,
  offRampSessionCursor,
  listOffRampSessions,
} from '../../resolvers/warehouse/offRamp/listOffRampSessions.ts';
import { forRoles } from '../core/access.ts';
import { isOperator, subjectOf } from '../core/caller.ts';
import { OffRampSessionRef, OffRampStateEnum } from './offRampSession.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';

const OffRampSessionFilterInput = builder.inputType('OffRampSessionFilter', {
  description: 'Only off-ramp sessions that have all of these.',
  fields: (t) => ({
    receiptTokenAddress: t.field({ type: 'Address', description: 'Only of the receipt with this token.' }),
    state: t.field({ type: OffRampStateEnum, description: 'Only in this state.' }),
    stranded: t.boolean({
      description:
        'true: only those that wait for a ramp provider other than the configured one; false: only the others.',
    }),
  }),
});

const cursors = keysetCursors('offRampSessions', cursorValues.moment);

builder.queryField('offRampSessions', (t) =>
  t.connection(
    {
      ...forRoles(
        ['farmer', 'operator'],
        'Cash-outs, newest first, a page at a time. Farmers see their own, operators all. A receipt that does not exist has ' +
          "none, like one of another farmer's.",
      ),
      type: OffRampSessionRef,
      nullable: true,
      args: { filter: t.arg({ type: OffRampSessionFilterInput, description: 'Which off-ramp sessions.' }) },
      resolve: async (_root, args, { caller, dependencies }) => {
        const { receiptTokenAddress, state, stranded } = args.filter ?? {};
        const receipt =
          receiptTokenAddress == null ? null : await findReceiptByToken(dependencies, receiptTokenAddress);
        const visibleTo = isOperator(caller) ? null : subjectOf(caller);
        const filter = { visibleTo, state, stranded, receiptId: receipt?.id };
        // Telling the two apart would tell a farmer which receipts others have.
        const isUnknown = receiptTokenAddress != null && receipt === null;
        return pageOf(args, cursors, {
          list: async (page) => (isUnknown ? [] : listOffRampSessions(dependencies, filter, page)),
          cursorOf: offRampSessionCursor,
          count: async () => (isUnknown ? 0 : countOffRampSessions(dependencies, filter)),
        });
      },
    },
    ...listNames('OffRampSession'),
  ),
);
