/**
 * The whole contract: gathers every file that registers a part of it.
 */
import './advanceNetworkClock.ts';
import './buyerAccount.ts';
import './createProject.ts';
import './ledgerNetwork.ts';
import { builder } from './platform.ts';
import './project.ts';
import './projects.ts';
import './purchase.ts';
import './reconciliation.ts';
import './registry.ts';
import './resolveReview.ts';
import './retire.ts';
import './retirement.ts';
import './retirementFeed.ts';
import './retirements.ts';
import './submission.ts';
import './watchRetirements.ts';

export const schema = builder.toSchema();
