/**
 * What a submission is for.
 */
import type { Submission } from '../../ledger/submission/settle.ts';
import { findRetirement } from '../../resolvers/carbon/findRetirement.ts';
import type { Dependencies } from '../../resolvers/core/dependencies.ts';
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

const SubmissionSubject = builder.unionType('SubmissionSubject', {
  description: 'What a contract call is for.',
  types: [ProjectRef, RetirementRef, ReceiptRef, OffRampSessionRef, HolderActRef],
  resolveType: (subject) => {
    if ('unsigned' in subject) return HolderActRef;
    if ('providerName' in subject) return OffRampSessionRef;
    if ('warehouseId' in subject) return ReceiptRef;
    return 'beneficiary' in subject ? RetirementRef : ProjectRef;
  },
});

builder.objectField(SubmissionRef, 'subject', (t) =>
  t.field({
    type: SubmissionSubject,
    nullable: true,
    description: 'What the call is for; null for the deployment of the settlement contract.',
    resolve: (submission, _args, context) => subjectOf(context, submission),
  }),
);

function subjectOf(context: Context<Dependencies>, { subjectType, subjectId }: Submission) {
  const { dependencies } = context;
  switch (subjectType) {
    case 'PROJECT':
      return projectOf(context, subjectId);
    case 'RETIREMENT':
      return findRetirement(dependencies, subjectId);
    case 'RECEIPT':
      return receiptOf(context, subjectId);
    case 'OFF_RAMP_SESSION':
      return findOffRampSession(dependencies, subjectId);
    case 'HOLDER_ACT':
      return findHolderAct(dependencies, subjectId);
    case 'SETTLEMENT_DEPLOYMENT':
      return null;
  }
}
