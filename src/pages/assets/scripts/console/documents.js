/**
 * The operations of the console. A query that reads others' data leaves an entry in the audit log, so it is
 * an operation of its own that the operator requests: repeated every few seconds, it would fill the log.
 */

export const VIEWER = 'query ConsoleViewer { viewer { subject roles } }';

const SUBMISSION = `fragment ConsoleListedSubmission on Submission {
  id kind signer state stateReason reviewCause reviewVersion createdAt dueAt
}`;

/** The data that changes within seconds. */
export const WORK = `query ConsoleWork($isOperator: Boolean!) {
  ledgerNetwork { name latestLedger latestLedgerClosedAt signingHaltedBecause }
  openWork @include(if: $isOperator) {
    pendingSubmissionCount reviewSubmissionCount stuckSubmissionCount oldestStuckAt
    pendingOffRampSessionCount reviewOffRampSessionCount overdueOffRampSessionCount oldestOverdueAt overdueExpiryRunCount
    signingHaltedBecause signingHaltVersion feedDelaySeconds
  }
  review: submissions(first: 20, filter: { states: [NEEDS_REVIEW] }) @include(if: $isOperator) {
    nodes { ...ConsoleListedSubmission }
  }
  stuck: submissions(first: 20, filter: { stuck: true }) @include(if: $isOperator) {
    nodes { ...ConsoleListedSubmission }
  }
  pending: submissions(first: 20, filter: { states: [PENDING] }) @include(if: $isOperator) {
    nodes { ...ConsoleListedSubmission }
  }
  stranded: offRampSessions(filter: { stranded: true }) @include(if: $isOperator) { totalCount }
  approvalRequests(first: 20, filter: { states: [AWAITING] }) @include(if: $isOperator) {
    nodes { id operation requestedBy requestedAt expiresAt input { name value } }
    totalCount
  }
}
${SUBMISSION}`;

/** The data that changes within minutes. */
export const STATE = `query ConsoleState($isOperator: Boolean!, $seesCaps: Boolean!) {
  transparencyLogs { name treeSize rootHash updatedAt }
  invariants @include(if: $isOperator) {
    invariant promise verdict agreedAt comparedAt fullyComparedAt
    findings { message }
    notProved { obstacle message }
  }
  indexerRegistration @include(if: $isOperator) { webhookId url current createdAt }
  issuanceCaps(first: 100) @include(if: $seesCaps) {
    nodes { id warehouseId commodityType limitKg outstandingKg setAt setBy }
    totalCount
  }
}`;

/** A submission with its owner and its state on the network; the query leaves an entry in the audit log. */
export const SUBMISSION_DETAILS = `query ConsoleSubmission($id: ID!) {
  submission(id: $id) {
    foundOnNetwork { evidence adoptable recordIndex txHash }
    transactions { kind state txHash signedAt }
    target {
      __typename
      ... on Retirement { buyerId beneficiary tonnes }
      ... on Project { assetId tokenName quantityCO2e }
      ... on Receipt { assetId commodityType quantityKg }
      ... on OffRampSession { sessionId farmerId tokenAmount }
      ... on HolderAct { kind holderAddress }
    }
  }
}`;

/** Leaves entries in the audit log, unless the sessions are the caller's own. */
export const SESSIONS = `query ConsoleSessions {
  review: offRampSessions(first: 20, filter: { states: [NEEDS_REVIEW] }) { nodes { ...ConsoleSession } }
  overdue: offRampSessions(first: 20, filter: { overdue: true }) { nodes { ...ConsoleSession } }
  stranded: offRampSessions(first: 20, filter: { stranded: true }) { nodes { ...ConsoleSession } }
}
fragment ConsoleSession on OffRampSession {
  id state stateReason reviewVersion rampProvider rampProviderName sessionId providerStatus exposed tokenAmount farmerId createdAt
  payout { amount currency }
  reviews { flaggedBecause stateBefore openedAt closedAt }
}`;

/** The answer of a mutation that another person has to approve. */
const APPROVAL = 'approvalRequest { expiresAt }';

export const RESOLVE_SUBMISSION_REVIEW = `mutation ConsoleResolveSubmissionReview($input: ResolveSubmissionReviewInput!) {
  resolveSubmissionReview(input: $input) { submission { state } ${APPROVAL} }
}`;

export const RESOLVE_OFF_RAMP_SESSION_REVIEW = `mutation ConsoleResolveOffRampSessionReview($input: ResolveOffRampSessionReviewInput!) {
  resolveOffRampSessionReview(input: $input) { offRampSession { state } ${APPROVAL} }
}`;

export const RESUME_SIGNING = `mutation ConsoleResumeSigning($input: ResumeSigningInput!) {
  resumeSigning(input: $input) { signingHaltedBecause ${APPROVAL} }
}`;

export const GRANT_APPROVAL = `mutation ConsoleGrantApproval($input: GrantApprovalInput!) {
  grantApproval(input: $input) { approvalRequest { state } }
}`;

export const REFUSE_APPROVAL = `mutation ConsoleRefuseApproval($input: RefuseApprovalInput!) {
  refuseApproval(input: $input) { approvalRequest { state } }
}`;

export const WATCH_RETIREMENTS = 'mutation ConsoleWatchRetirements { watchRetirements { webhookId } }';
