/**
 * Gathers the tables of the platform.
 */
export * from './approvals.ts';
export * from './books.ts';
export * from './feed.ts';
export * from './holderActs.ts';
export * from './identity.ts';
export * from './indexer.ts';
export * from './issuanceCaps.ts';
export * from './jobs.ts';
export * from './platform.ts';
export * from './pledges.ts';
export * from './projects.ts';
export * from './ramp.ts';
export * from './receipts.ts';
export * from './retirements.ts';
export * from './settlementDeployments.ts';
export * from './submission.ts';
export * from './transparency.ts';
