/**
 * Submission.target: the row that a submission is for.
 */
import type { Submission } from '../../ledger/submission/settle.ts';
import { findRetirement } from '../../resolvers/carbon/findRetirement.ts';
import { findHolderAct } from '../../resolvers/wallets/findHolderAct.ts';
import { findOffRampSession } from '../../resolvers/warehouse/offRamp/findOffRampSession.ts';
import { projectOf, ProjectRef } from '../carbon/project.ts';
import { RetirementRef } from '../carbon/retirement.ts';
import { builder } from '../core/builder.ts';
import type { Context } from '../core/context.ts';
import { HolderActRef } from '../wallets/holderAct.ts';
import { OffRampSessionRef } from '../warehouse/offRampSession.ts';
import { receiptOf, ReceiptRef } from '../warehouse/receipt.ts';
import { SubmissionRef } from './submission.ts';

const SubmissionTarget = builder.unionType('SubmissionTarget', {
  description: 'The object that a contract call is for.',
  types: [ProjectRef, RetirementRef, ReceiptRef, OffRampSessionRef, HolderActRef],
  resolveType: (target) => {
    if ('unsigned' in target) return HolderActRef;
    if ('providerName' in target) return OffRampSessionRef;
    if ('warehouseId' in target) return ReceiptRef;
    return 'beneficiary' in target ? RetirementRef : ProjectRef;
  },
});

builder.objectField(SubmissionRef, 'target', (t) =>
  t.field({
    type: SubmissionTarget,
    nullable: true,
    description: 'The object that the call is for. Null for the deployment of the settlement contract.',
    resolve: (submission, _args, context) => targetOf(context, submission),
  }),
);

function targetOf(context: Context, { targetType, targetId }: Submission) {
  const { dependencies } = context;
  switch (targetType) {
    case 'PROJECT':
      return projectOf(context, targetId);
    case 'RETIREMENT':
      return findRetirement(dependencies, targetId);
    case 'RECEIPT':
      return receiptOf(context, targetId);
    case 'OFF_RAMP_SESSION':
      return findOffRampSession(dependencies, targetId);
    case 'HOLDER_ACT':
      return findHolderAct(dependencies, targetId);
    case 'SETTLEMENT_DEPLOYMENT':
      return null;
  }
}
