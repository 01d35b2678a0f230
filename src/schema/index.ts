/**
 * The whole contract: gathers every file that registers a part of it.
 */
import './advanceNetworkClock.ts';
import './apiKey.ts';
import './auditEntries.ts';
import './buyerAccount.ts';
import './cashOut.ts';
import './cashOutSession.ts';
import './cashOutSessions.ts';
import './createApiKey.ts';
import './createDeposit.ts';
import './createProject.ts';
import './deployRampSettlement.ts';
import './expireReceipts.ts';
import './expiryRuns.ts';
import './holderAct.ts';
import './ledgerNetwork.ts';
import './offRampQuote.ts';
import { builder } from './platform.ts';
import './prepareCashOutDeposit.ts';
import './prepareRetirement.ts';
import './project.ts';
import './projects.ts';
import './purchase.ts';
import './receipt.ts';
import './receipts.ts';
import './reconciliation.ts';
import './registry.ts';
import './resolveReview.ts';
import './resumeSigning.ts';
import './resolveSessionReview.ts';
import './retire.ts';
import './retirement.ts';
import './retirementFeed.ts';
import './retirements.ts';
import './revokeApiKey.ts';
import './setManualSessionStatus.ts';
import './submission.ts';
import './submitSigned.ts';
import './watchRetirements.ts';

export const schema = builder.toSchema();
