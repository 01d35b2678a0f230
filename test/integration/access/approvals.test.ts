/**
 * Approvals by a second person: large mints, final statuses of manual payouts and decisions of reviews wait
 * for another person's approval. Each takes effect once, however many people decide at the same time.
 */
import { randomUUID } from 'node:crypto';
import { and, eq, isNotNull, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  approvalRequests,
  offRampReviews,
  offRampSessions,
  projects,
  receipts,
  signingAccounts,
  submissions,
  operatorDecisions,
} from '../../../src/db/tables/index.ts';
import { createProject } from '../../../src/resolvers/carbon/createProject.ts';
import { cancelCashOut } from '../../../src/resolvers/warehouse/offRamp/cancelCashOut.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { resumeWithin } from '../../../src/ledger/submission/review.ts';
import { NEW_SUBMISSION } from '../../../src/ledger/submission/submission.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { projectInput as smallProject } from '../../../devnet/platform.ts';
import { burnOutside } from '../../support/burnOutside.ts';
import { changePastRules } from '../../support/database/database.ts';
import { decideSubmission } from '../../support/decisions.ts';
import { askOver, codesOf } from '../../support/http/askOver.ts';
import { buy, mutate, newToken, operator, payloadOf, projectInput } from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';
import {
  depositedCashOut,
  depositInput,
  farmer,
  providerSays,
  reaches,
  sessionOf,
} from '../../support/warehouse.ts';

let market: Marketplace;
beforeAll(async () => {
  const limits = { aboveTonnes: 1_000n, aboveKilograms: 5_000n, lifetimeSeconds: 3600 };
  market = await startMarketplace({ approvalPolicy: { isRequired: true, ...limits } });
});
afterAll(() => market.stop());

const first = operator;
const second = { role: 'operator', subject: 'second' } as const;
const third = { role: 'operator', subject: 'third' } as const;
const dev = { role: 'developer', subject: 'dev' } as const;

const APPROVAL =
  'approval: approvalRequest { id state requestedBy decidedBy refusalReason operation input { name value } target { __typename } }';
interface Approval {
  id: string;
  state: string;
  requestedBy: string;
  decidedBy: string | null;
  refusalReason: string | null;
  operation: string;
  input: { name: string; value: string }[];
  target: { __typename: string } | null;
}
type Decided = { approval: Approval };

const PROJECT = [
  'createProject',
  'CreateProjectInput',
  `tokenAddress project { id state } ${APPROVAL}`,
] as const;
const DEPOSIT = [
  'createDeposit',
  'CreateDepositInput',
  `receipt { id state } dryRun { needsApproval } ${APPROVAL}`,
] as const;

const grant = ({ id }: { id: string }, caller: TestCaller) =>
  market.send<Record<string, Decided>>(
    `mutation ($id: ID!) { grantApproval(input: { approvalRequestId: $id }) { ${APPROVAL} } }`,
    { id },
    caller,
  );
const refuse = ({ id }: { id: string }, caller: TestCaller, reason: string | null = 'not wanted') =>
  market.send<Record<string, Decided>>(
    `mutation ($input: RefuseApprovalInput!) { refuseApproval(input: $input) { ${APPROVAL} } }`,
    { input: { approvalRequestId: id, ...(reason === null ? {} : { reason }) } },
    caller,
  );
/** What a request's approver or requester sees that it is about. */
const targetShownTo = async ({ id }: { id: string }, caller: TestCaller) => {
  const query = 'query ($id: ID!) { node(id: $id) { ... on ApprovalRequest { target { __typename } } } }';
  return (await market.send<{ node: unknown }>(query, { id }, caller)).data?.node;
};

const localId = ({ id }: { id: string }) => Buffer.from(id, 'base64url').toString().split(':')[1] ?? '';

async function largeProject(caller: TestCaller = dev) {
  const input = { ...projectInput({ quantityCO2e: 1_001 }), idempotencyKey: randomUUID() };
  const answer = payloadOf(await mutate<Decided & { project: unknown }>(market, PROJECT, input, caller));
  expect(answer).toMatchObject({ project: null, tokenAddress: null, approval: { state: 'AWAITING' } });
  return { input, approval: answer.approval };
}

const projectsOf = ({ id }: { id: string }) =>
  market.database.handle.db.$count(projects, eq(projects.id, localId({ id })));

const errorsOf = async (answer: Promise<{ errors: { extensions: { code: string } }[] }>) =>
  (await answer).errors.map(({ extensions }) => extensions.code);

describe('a large mint', () => {
  it('needs no approval under another key once its project exists', async () => {
    const { input, approval } = await largeProject();
    expect(await errorsOf(grant(approval, second))).toEqual([]);
    const again = { ...input, idempotencyKey: randomUUID() };
    const answer = payloadOf(await mutate<Decided & { project: unknown }>(market, PROJECT, again, dev));
    expect(answer).toMatchObject({ project: { state: 'OPEN' }, approval: null });
  });

  it('is listed first while it is the newest', async () => {
    const [older, newer] = [await largeProject(), await largeProject()];
    const list = '{ approvalRequests(first: 2) { edges { node { id } } } }';
    const seen = await market.send<{ approvalRequests: { edges: { node: { id: string } }[] } }>(
      list,
      {},
      first,
    );
    const ids = payloadOf(seen).edges.map(({ node }) => node.id);
    expect(ids).toEqual([newer.approval.id, older.approval.id]);
    for (const { approval } of [older, newer]) await refuse(approval, dev);
  });

  it('waits for another person, who sees its whole input, and is done as the requester asked', async () => {
    const { input, approval } = await largeProject();
    expect(approval).toMatchObject({ operation: 'CREATE_PROJECT', requestedBy: 'dev', target: null });
    expect(approval.input).toContainEqual({ name: 'quantityCO2e', value: '1001' });
    expect(await projectsOf(approval)).toBe(0);
    const repeated = payloadOf(await mutate<Decided>(market, PROJECT, input, dev));
    expect(repeated.approval.id).toBe(approval.id);

    const granted = payloadOf(await grant(approval, second)).approval;
    expect(granted).toMatchObject({
      state: 'APPROVED',
      decidedBy: 'second',
      refusalReason: null,
      target: { __typename: 'Project' },
    });
    const done = payloadOf(await mutate<Decided & { project: unknown }>(market, PROJECT, input, dev));
    expect(done).toMatchObject({ project: { state: 'OPEN' }, approval: null });
    expect(payloadOf(await grant(approval, second)).approval.state).toBe('APPROVED');
    expect(await errorsOf(grant(approval, third))).toEqual(['CONFLICT']);
  });

  it('that can not be done names the request that was approved, not an input that its approver has not given', async () => {
    const { input, approval } = await largeProject();
    const other = { ...input, quantityCO2e: 1_002, idempotencyKey: randomUUID() };
    const { approval: conflicting } = payloadOf(await mutate<Decided>(market, PROJECT, other, dev));
    payloadOf(await grant(approval, second));
    expect((await grant(conflicting, second)).errors).toMatchObject([
      { extensions: { code: 'CONFLICT', field: 'input.approvalRequestId', assetId: expect.any(String) } },
    ]);
  });

  it('needs none up to the quantity, and a dry run says so', async () => {
    await newToken(market, { quantityCO2e: 1_000 });
    const deposit = (quantityKg: number, dryRun = false) =>
      mutate<{ approval: Approval | null; dryRun: unknown; receipt: unknown }>(
        market,
        DEPOSIT,
        { ...inputOfDeposit(), quantityKg, dryRun },
        first,
      );
    expect(payloadOf(await deposit(5_001, true)).dryRun).toEqual({ needsApproval: true });
    expect(payloadOf(await deposit(5_000, true)).dryRun).toEqual({ needsApproval: false });
    expect(payloadOf(await deposit(5_000))).toMatchObject({ approval: null, receipt: { state: 'ACTIVE' } });
    const { approval } = payloadOf(await deposit(5_001));
    expect(approval?.input).toContainEqual({ name: 'countryCode', value: 'KE' });
    expect(await errorsOf(grant(approval ?? { id: '' }, first))).toEqual(['FORBIDDEN']);
    await grant(approval ?? { id: '' }, second);
    const made = await market.database.handle.db
      .select()
      .from(receipts)
      .where(eq(receipts.id, localId(approval ?? { id: '' })));
    expect(made).toMatchObject([{ state: 'ACTIVE', quantityKg: 5_001n, confirmedBy: first.subject }]);
  });

  it('of a deposit is shown to its warehouse and to operators, not to its requester in another role', async () => {
    const warehouse = { role: 'warehouse', subject: `WH-${randomUUID().slice(0, 8)}` } as const;
    const { approval } = payloadOf(
      await mutate<Decided>(
        market,
        DEPOSIT,
        { ...inputOfDeposit(), quantityKg: 5_001, warehouseId: warehouse.subject },
        warehouse,
      ),
    );
    expect(await errorsOf(refuse(approval, { ...warehouse, role: 'developer' }))).toEqual(['NOT_FOUND']);
    await grant(approval, second);
    const shownTo = async (caller: TestCaller) => {
      const query = `query ($id: ID!) { node(id: $id) { ... on ApprovalRequest { target { __typename } } } }`;
      return (await market.send<{ node: unknown }>(query, { id: approval.id }, caller)).data?.node;
    };
    const shown = { target: { __typename: 'Receipt' } };
    expect([await shownTo(warehouse), await shownTo(second)]).toEqual([shown, shown]);
    expect(await shownTo({ ...warehouse, role: 'buyer' })).toBeNull();
  });

  it('is minted once by two who approve at once, and by one who approves while it is withdrawn not at all or once', async () => {
    const { approval } = await largeProject();
    const codes = await Promise.all([errorsOf(grant(approval, second)), errorsOf(grant(approval, third))]);
    expect(codes.flat()).toEqual(['CONFLICT']);
    expect(await projectsOf(approval)).toBe(1);

    for (let race = 0; race < 3; race++) {
      const { approval: raced } = await largeProject();
      const both = await Promise.all([errorsOf(grant(raced, second)), errorsOf(refuse(raced, dev))]);
      expect(both.flat()).toEqual(['CONFLICT']);
      expect(await projectsOf(raced)).toBe(both[0]?.length === 0 ? 1 : 0);
    }
  });

  it('is not minted when it is withdrawn, refused or expired', async () => {
    const { approval } = await largeProject();
    const stranger = { role: 'developer', subject: 'stranger' } as const;
    expect(await errorsOf(refuse(approval, stranger))).toEqual(['NOT_FOUND']);
    const withdrawn = { state: 'WITHDRAWN', refusalReason: 'a wrong quantity' };
    expect(payloadOf(await refuse(approval, dev, ' a wrong quantity ')).approval).toMatchObject(withdrawn);
    expect(await errorsOf(grant(approval, second))).toEqual(['CONFLICT']);

    const { approval: refused } = await largeProject();
    const byAnother = { state: 'REFUSED', decidedBy: 'second', refusalReason: 'no such project' };
    expect(payloadOf(await refuse(refused, second, 'no such project')).approval).toMatchObject(byAnother);
    expect(payloadOf(await refuse(refused, second, 'another reason')).approval).toMatchObject(byAnother);
    expect(await errorsOf(refuse(refused, dev))).toEqual(['CONFLICT']);

    const { approval: late } = await largeProject();
    const past = sql`UPDATE ${approvalRequests} SET requested_at = now() - interval '2 hours', expires_at = now() WHERE id = ${localId(late)}`;
    await changePastRules(market.database, past);
    expect(await errorsOf(grant(late, second))).toEqual(['CONFLICT']);
    expect(await projectsOf(late)).toBe(0);
    const list = await market.send<{ approvalRequests: { nodes: Approval[] } }>(
      '{ approvalRequests(filter: { states: [EXPIRED] }) { nodes { id state } } }',
      {},
      second,
    );
    expect(list.data?.approvalRequests.nodes).toEqual([{ id: late.id, state: 'EXPIRED' }]);
  });

  it('is neither refused nor withdrawn without a reason', async () => {
    const { approval } = await largeProject();
    for (const caller of [second, dev]) {
      for (const reason of [null, ' ', 'x'.repeat(513)]) {
        expect(await errorsOf(refuse(approval, caller, reason))).toEqual(['BAD_USER_INPUT']);
      }
    }
    const unexplained = sql`UPDATE ${approvalRequests} SET state = 'REFUSED', decided_by = 'second', decided_at = now()
      WHERE id = ${localId(approval)}`;
    await expect(market.database.handle.db.execute(unexplained)).rejects.toMatchObject({
      cause: { constraint_name: 'approval_requests_refusal_reason' },
    });
    expect(payloadOf(await grant(approval, second)).approval.state).toBe('APPROVED');
  });

  it('is not minted when the asset was issued meanwhile', async () => {
    const { input, approval } = await largeProject();
    await newToken(market, { ...input, quantityCO2e: 5, idempotencyKey: randomUUID() });
    expect(await errorsOf(grant(approval, second))).toEqual(['CONFLICT']);
    expect(await projectsOf(approval)).toBe(0);
  });

  it('is not made without approval when the project whose asset id was taken is refused meanwhile', async () => {
    // The project needs no approval while its asset id is taken; the id is free again when it is recorded.
    const input = smallProject({ quantityCO2e: 1_001n });
    await expect(createProject(market.app.dependencies, dev.subject, input)).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    const { db } = market.database.handle;
    expect(await db.$count(projects, eq(projects.verificationBodyRef, input.verificationBodyRef))).toBe(0);
    const again = { ...input, quantityCO2e: 1_001 };
    const { approval } = payloadOf(await mutate<Decided>(market, PROJECT, again, dev));
    expect(approval).toMatchObject({ state: 'AWAITING' });
  });

  it('leaves an entry in the audit log for each person, about the same request', async () => {
    const { approval } = await largeProject();
    await grant(approval, second);
    const entries = async () => {
      const { data } = await market.send<{ auditEntries: { nodes: Record<string, unknown>[] } }>(
        'query ($ids: [String!]) { auditEntries(filter: { targetIds: $ids }) { nodes { field callerSubject outcome } } }',
        { ids: [approval.id] },
        first,
      );
      return data?.auditEntries.nodes;
    };
    await expect.poll(entries).toEqual([
      { field: 'grantApproval', callerSubject: 'second', outcome: 'OK' },
      { field: 'createProject', callerSubject: 'dev', outcome: 'OK' },
    ]);
  });
});

describe('the second person', () => {
  it('is neither the requester nor an API key of the same administrator', async () => {
    const admin = { role: 'admin', subject: 'root' } as const;
    const makeKey = async (maker: TestCaller, subject: string) => {
      const input = {
        name: 'a client',
        subject,
        roles: ['OPERATOR'],
        expiresAt: Math.floor(Date.now() / 1000) + 3600,
      };
      const made = await mutate<{ key: string }>(
        market,
        ['createApiKey', 'CreateApiKeyInput', 'key'],
        input,
        maker,
      );
      return payloadOf(made).key;
    };
    const withKey = (bearer: string, id: string) =>
      askOver('http', market.url, {
        query:
          'mutation ($id: ID!) { grantApproval(input: { approvalRequestId: $id }) { approval: approvalRequest { state } } }',
        variables: { id },
        bearer,
      });
    const { approval } = await largeProject(admin);
    expect(await errorsOf(grant(approval, admin))).toEqual(['FORBIDDEN']);
    expect(codesOf(await withKey(await makeKey(admin, 'robot'), approval.id))).toEqual(['FORBIDDEN']);

    const robot = await makeKey(admin, 'robot');
    const asked = await askOver('http', market.url, {
      query:
        'mutation ($input: CreateProjectInput!) { createProject(input: $input) { approval: approvalRequest { id } } }',
      variables: { input: { ...projectInput({ quantityCO2e: 2_000 }), idempotencyKey: randomUUID() } },
      bearer: robot,
    });
    const byRobot = (asked.data as { createProject: { approval: { id: string } } }).createProject.approval;
    expect(await errorsOf(grant(byRobot, admin))).toEqual(['FORBIDDEN']);
    expect(codesOf(await withKey(await makeKey(admin, 'other'), byRobot.id))).toEqual(['FORBIDDEN']);
    const otherAdmin = { role: 'admin', subject: 'other-root' } as const;
    expect((await withKey(await makeKey(otherAdmin, 'third-robot'), byRobot.id)).errors).toEqual([]);
    expect(await projectsOf(approval)).toBe(0);
    expect(await projectsOf(byRobot)).toBe(1);
  });
});

describe('a decision of a review', () => {
  const RESOLVE = [
    'resolveSubmissionReview',
    'ResolveSubmissionReviewInput',
    `submission { state } ${APPROVAL}`,
  ] as const;

  async function reviewed() {
    const tokenAddress = await newToken(market, { quantityCO2e: 10 });
    await buy(market, 'acme', tokenAddress, 10);
    await burnOutside(market.network, { tokenAddress }, 4n);
    const { dependencies } = market.app;
    const input = { buyerId: 'acme', buyerName: 'Acme Ltd', tokenAddress, amountCO2e: 4, note: 'flights' };
    const retired = await mutate<{ retirement: { id: string; state: string } }>(
      market,
      ['retire', 'RetireInput', 'retirement { id state }'],
      input,
      { role: 'buyer', subject: 'acme' },
    );
    const { retirement } = payloadOf(retired);
    expect(retirement.state).toBe('NEEDS_REVIEW');
    const [submission] = await dependencies.db
      .select()
      .from(submissions)
      .where(eq(submissions.targetId, localId(retirement)));
    const submissionId = submission?.id ?? '';
    return { submissionId, globalId: Buffer.from(`Submission:${submissionId}`).toString('base64url') };
  }

  /** Resumes the submission, which the next step brings to review again, for the same reason. */
  async function reviewAgain(submissionId: string): Promise<void> {
    const { db, submission } = market.app.dependencies;
    const isIt = eq(submissions.id, submissionId);
    await db.transaction((tx) => resumeWithin(tx, submission, { id: submissionId, resumptions: 0 }));
    submission.stateSignal.notify(NEW_SUBMISSION);
    await expect
      .poll(async () => (await db.select().from(submissions).where(isIt))[0])
      .toMatchObject({ state: 'NEEDS_REVIEW', reviewCause: 'FOUND_ON_NETWORK', resumptions: 1 });
  }

  const readVersion = async (id: string) => {
    const query = 'query ($id: ID!) { submission(id: $id) { reviewVersion } }';
    const seen = await market.send<{ submission: { reviewVersion: string } }>(query, { id }, first);
    return payloadOf(seen).reviewVersion;
  };

  const decide = async (
    globalId: string,
    decision: string,
    caller: TestCaller,
    more: { reviewVersion?: string; recordIndex?: null } = {},
  ) => {
    const reviewVersion = more.reviewVersion ?? (await readVersion(globalId));
    return market.send<Record<string, Decided & { submission: { state: string } }>>(
      `mutation ($input: ResolveSubmissionReviewInput!) { resolveSubmissionReview(input: $input) { ${RESOLVE[2]} } }`,
      { input: { submissionId: globalId, decision, reason: 'looked at it', ...more, reviewVersion } },
      caller,
    );
  };

  it('takes effect with the approval, and once', async () => {
    const { globalId } = await reviewed();
    const asked = payloadOf(await decide(globalId, 'ADOPT', first));
    expect(asked).toMatchObject({
      submission: { state: 'NEEDS_REVIEW' },
      approval: { state: 'AWAITING', target: { __typename: 'Submission' } },
    });
    for (const more of [{}, { recordIndex: null }]) {
      const again = payloadOf(await decide(globalId, 'ADOPT', first, more));
      expect(again.approval.id).toBe(asked.approval.id);
    }
    expect(await errorsOf(decide(globalId, 'GIVE_UP', second))).toEqual(['CONFLICT']);
    const both = await Promise.all([
      errorsOf(grant(asked.approval, second)),
      errorsOf(grant(asked.approval, third)),
    ]);
    expect(both.flat()).toEqual(['CONFLICT']);
    const after = await market.send<{ submission: unknown }>(
      'query ($id: ID!) { submission(id: $id) { state decisions { decision decidedBy reason } } }',
      { id: globalId },
      first,
    );
    expect(after.data?.submission).toEqual({
      state: 'SUCCEEDED',
      decisions: [{ decision: 'ADOPT', decidedBy: first.subject, reason: 'looked at it' }],
    });
  });

  it('does not show the submission to its requester any more who is no operator', async () => {
    const { globalId } = await reviewed();
    const { approval } = payloadOf(await decide(globalId, 'ADOPT', first));
    expect(await targetShownTo(approval, first)).toEqual({ target: { __typename: 'Submission' } });
    expect(await targetShownTo(approval, { ...first, role: 'buyer' })).toEqual({ target: null });
    await refuse(approval, first);
  });

  it('does not take effect when the review was decided, or is another one by then', async () => {
    const decided = await reviewed();
    const { approval } = payloadOf(await decide(decided.globalId, 'RESUME', first));
    const { submissionId } = decided;
    await decideSubmission(market.app.dependencies, 'ops', {
      submissionId,
      decision: 'ADOPT',
      reason: 'a look',
    });
    expect(await errorsOf(grant(approval, second))).toEqual(['CONFLICT']);

    const resumed = await reviewed();
    const seen = await readVersion(resumed.globalId);
    const { approval: stale } = payloadOf(
      await decide(resumed.globalId, 'ADOPT', first, { reviewVersion: seen }),
    );
    await reviewAgain(resumed.submissionId);
    expect(await errorsOf(grant(stale, second))).toEqual(['CONFLICT']);
    // The repeated request is the same one as long as it waits; a new one needs what is known now.
    const repeated = payloadOf(await decide(resumed.globalId, 'ADOPT', first, { reviewVersion: seen }));
    expect(repeated.approval.id).toBe(stale.id);
    await refuse(stale, first);
    const { errors } = await decide(resumed.globalId, 'ADOPT', first, { reviewVersion: seen });
    expect(errors.map(({ extensions }) => extensions)).toMatchObject([
      { code: 'CONFLICT', field: 'input.reviewVersion' },
    ]);

    const other = await reviewed();
    const { approval: old } = payloadOf(await decide(other.globalId, 'ADOPT', first));
    const { db } = market.app.dependencies;
    await db
      .update(submissions)
      .set({ stateReason: 'another finding' })
      .where(eq(submissions.id, other.submissionId));
    expect(await errorsOf(grant(old, second))).toEqual(['CONFLICT']);
    expect(payloadOf(await refuse(old, first)).approval.state).toBe('WITHDRAWN');
    const { approval: anew } = payloadOf(await decide(other.globalId, 'ADOPT', first));
    expect(await errorsOf(grant(anew, second))).toEqual([]);
  });
});

describe('a payout', () => {
  const STATUS = [
    'setManualSessionStatus',
    'SetManualSessionStatusInput',
    `sessionId status ${APPROVAL}`,
  ] as const;
  const report = (sessionId: string, status: string, caller: TestCaller, paymentReference?: string) =>
    market.send<Record<string, Decided & { status: string }>>(
      `mutation ($input: SetManualSessionStatusInput!) { setManualSessionStatus(input: $input) { ${STATUS[2]} } }`,
      { input: { sessionId, status, paymentReference } },
      caller,
    );

  const statusesOf = async (sessionId: string) => {
    const rows = await market.database.handle.sql<Record<string, string | null>[]>`
      SELECT status, set_by, approval_request_id FROM manual_ramp_statuses WHERE session_id = ${sessionId} ORDER BY number`;
    return rows.map((row) => [row.status, row.set_by, row.approval_request_id]);
  };

  it('is not shown to its requester any more who is no operator', async () => {
    const { providerSessionId } = await depositedCashOut(market.app);
    const { approval } = payloadOf(await report(providerSessionId, 'SETTLED', first));
    expect(await targetShownTo(approval, first)).toEqual({ target: { __typename: 'OffRampSession' } });
    expect(await targetShownTo(approval, { ...first, role: 'buyer' })).toEqual({ target: null });
    await refuse(approval, first);
  });

  it('is settled by two people, and not on a report that another one has overtaken', async () => {
    const { id, providerSessionId } = await depositedCashOut(market.app);
    expect(payloadOf(await report(providerSessionId, 'PROCESSING', second))).toMatchObject({
      status: 'PROCESSING',
      approval: null,
    });
    const overtaken = payloadOf(await report(providerSessionId, 'SETTLED', first));
    expect(overtaken).toMatchObject({
      status: 'PROCESSING',
      approval: { target: { __typename: 'OffRampSession' } },
    });
    // A PROCESSING report means that the person has paid or is about to pay.
    expect(await errorsOf(report(providerSessionId, 'PROCESSING', third))).toEqual(['CONFLICT']);
    await report(providerSessionId, 'PROCESSING', second);
    expect(await errorsOf(grant(overtaken.approval, second))).toEqual(['CONFLICT']);
    await refuse(overtaken.approval, first);

    const { approval } = payloadOf(await report(providerSessionId, 'SETTLED', first));
    expect(await errorsOf(grant(approval, second))).toEqual([]);
    const { db } = market.app.dependencies;
    await expect
      .poll(async () => (await db.select().from(offRampSessions).where(eq(offRampSessions.id, id)))[0]?.state)
      .toBe('SETTLED');
    const repeated = payloadOf(await report(providerSessionId, 'SETTLED', first));
    expect(repeated).toMatchObject({ sessionId: providerSessionId, status: 'SETTLED', approval: null });
    expect(await statusesOf(providerSessionId)).toEqual([
      ['processing', second.subject, null],
      ['processing', second.subject, null],
      ['settled', first.subject, localId(approval)],
    ]);
  });

  it('gets a reference that is given later by two people, too', async () => {
    const { id, providerSessionId } = await depositedCashOut(market.app);
    const settled = payloadOf(await report(providerSessionId, 'SETTLED', first)).approval;
    expect(await errorsOf(grant(settled, second))).toEqual([]);
    const late = () => report(providerSessionId, 'SETTLED', first, 'MPESA QK41');
    const { approval } = payloadOf(await late());
    expect(approval).toMatchObject({ state: 'AWAITING' });
    expect(await errorsOf(grant(approval, second))).toEqual([]);
    expect(payloadOf(await late())).toMatchObject({ status: 'SETTLED', approval: null });
    expect(
      await market.database.handle.sql`
        SELECT status, payment_reference FROM manual_ramp_statuses WHERE session_id = ${providerSessionId} ORDER BY number`,
    ).toEqual([
      { status: 'processing', payment_reference: null },
      { status: 'settled', payment_reference: null },
      { status: 'settled', payment_reference: 'MPESA QK41' },
    ]);
    await reaches(market.app, id, 'SETTLED');
  });

  it('is not cancelled while the report that it was paid awaits the second person', async () => {
    const { id, providerSessionId } = await depositedCashOut(market.app);
    const { approval, status } = payloadOf(await report(providerSessionId, 'SETTLED', first));
    expect(status).toBe('PROCESSING');
    const { dependencies } = market.app;
    const cancellation = { offRampSessionId: id, idempotencyKey: randomUUID() };
    await cancelCashOut({ ...dependencies, mutationWaitMs: 0 }, farmer, cancellation);
    // The call that a cancellation makes to the provider.
    expect(await dependencies.ramp.closeSession(providerSessionId)).toMatchObject({ status: 'processing' });
    expect(await errorsOf(grant(approval, second))).toEqual([]);
    await reaches(market.app, id, 'SETTLED');
    // The first person's report held the session.
    expect(await statusesOf(providerSessionId)).toEqual([
      ['processing', first.subject, null],
      ['settled', first.subject, localId(approval)],
    ]);
  });

  it('that is being made is pending again, and can be cancelled, by two people', async () => {
    const { providerSessionId } = await depositedCashOut(market.app);
    await report(providerSessionId, 'PROCESSING', first);
    const { status, approval } = payloadOf(await report(providerSessionId, 'PENDING', first));
    expect(status).toBe('PROCESSING');
    await refuse(approval, first);
  });

  it('names the request that stands in the way of another status', async () => {
    const { providerSessionId } = await depositedCashOut(market.app);
    const { approval } = payloadOf(await report(providerSessionId, 'SETTLED', first));
    for (const status of ['REFUNDED', 'SETTLED']) {
      const { errors } = await report(providerSessionId, status, second);
      expect(errors?.map(({ extensions }) => extensions)).toMatchObject([
        { code: 'CONFLICT', approvalRequestId: approval.id },
      ]);
    }
    await refuse(approval, first);
  });

  it('that has ended is not asked to be pending again, which would stand in the way of its refund', async () => {
    const { id, providerSessionId } = await depositedCashOut(market.app);
    await providerSays(market.app, providerSessionId, 'settled');
    await reaches(market.app, id, 'SETTLED');
    for (const status of ['PENDING', 'PROCESSING']) {
      expect(await errorsOf(report(providerSessionId, status, first))).toEqual(['CONFLICT']);
    }
    const { approval } = payloadOf(await report(providerSessionId, 'REFUNDED', second));
    expect(approval).toMatchObject({ state: 'AWAITING' });
    await refuse(approval, second);
  });

  const readVersion = async ({ id }: { id: string }, caller: TestCaller = first) => {
    const query = 'query ($id: ID!) { offRampSession(id: $id) { reviewVersion } }';
    const variables = { id: Buffer.from(`OffRampSession:${id}`).toString('base64url') };
    const seen = await market.send<{ offRampSession: { reviewVersion: string | null } }>(
      query,
      variables,
      caller,
    );
    return payloadOf(seen).reviewVersion;
  };

  const askToRefund = async (session: { id: string }, seen?: string | null) =>
    market.send<Record<string, Decided & { session: { state: string } }>>(
      `mutation ($input: ResolveOffRampSessionReviewInput!) { resolveOffRampSessionReview(input: $input) { session: offRampSession { state } ${APPROVAL} } }`,
      {
        input: {
          offRampSessionId: Buffer.from(`OffRampSession:${session.id}`).toString('base64url'),
          decision: 'REFUND',
          reviewVersion: seen ?? (await readVersion(session)),
          reason: 'they paid nothing',
        },
      },
      first,
    );

  it('is not refunded by an approval that does not know what the provider said since', async () => {
    const session = await depositedCashOut(market.app);
    expect(await readVersion(session)).toBeNull();
    expect(await errorsOf(askToRefund({ id: randomUUID() }, 'a version'))).toEqual(['NOT_FOUND']);
    await providerSays(market.app, session.providerSessionId, 'refunded');
    await reaches(market.app, session.id, 'NEEDS_REVIEW');
    expect(await errorsOf(askToRefund(session, 'another'))).toEqual(['CONFLICT']);
    const seen = await readVersion(session);
    expect(await readVersion(session, { role: 'farmer', subject: farmer.subject })).toBeNull();
    const { approval } = payloadOf(await askToRefund(session, seen));
    for (const status of ['settled', 'refunded'] as const) {
      await providerSays(market.app, session.providerSessionId, status);
      await expect
        .poll(async () => (await findOffRampSession(market.app.dependencies, session.id))?.providerStatus)
        .toBe(status);
      expect(await errorsOf(grant(approval, second))).toEqual(['CONFLICT']);
    }
    expect(await reaches(market.app, session.id, 'NEEDS_REVIEW')).toMatchObject({ resolution: null });
    await refuse(approval, first);
    expect(await errorsOf(askToRefund(session, seen))).toEqual(['CONFLICT']);
    const again = payloadOf(await askToRefund(session));
    expect(await errorsOf(grant(again.approval, second))).toEqual([]);
    await reaches(market.app, session.id, 'REFUNDED');
    const reviews = await market.app.dependencies.db
      .select()
      .from(offRampReviews)
      .where(and(eq(offRampReviews.offRampSessionId, session.id), isNotNull(offRampReviews.decision)));
    expect(reviews).toMatchObject([{ decidedBy: first.subject, approvalRequestId: localId(again.approval) }]);
  });

  it('whose provider is not configured any more is decided by two people', async () => {
    const session = await depositedCashOut(market.app);
    const read = () => sessionOf(market.app, session.receiptId);
    // The next poll of the payout, which would note the provider's status, is half a minute away then.
    await expect.poll(async () => (await read()).fruitlessSteps).toBeGreaterThan(0);
    const stranded = sql`UPDATE ${offRampSessions} SET provider_name = 'old-ramp' WHERE id = ${session.id}`;
    await changePastRules(market.database, stranded);
    const { approval, session: unchanged } = payloadOf(await askToRefund(session));
    expect(unchanged.state).toBe('AWAITING_PAYOUT');
    expect(await errorsOf(grant(approval, first))).toEqual(['FORBIDDEN']);
    const both = await Promise.all([errorsOf(grant(approval, second)), errorsOf(grant(approval, third))]);
    expect(both.flat()).toEqual(['CONFLICT']);
    await expect.poll(async () => (await read()).state).toBe('REFUNDED');
  });
});

it('ends a halt of signing by two people, and another halt not by the approval of the first', async () => {
  const { db } = market.app.dependencies;
  // The embedded network has no signing order.
  await db.insert(signingAccounts).values([
    { address: 'another', nextSequence: 0n },
    { address: 'custody', nextSequence: 0n },
  ]);
  const halt = (because: string, address = 'custody') =>
    db.update(signingAccounts).set({ haltedBecause: because }).where(eq(signingAccounts.address, address));
  const readVersion = async () => {
    const query = '{ openWork { signingHaltVersion } }';
    const seen = await market.send<{ openWork: { signingHaltVersion: string | null } }>(query, {}, first);
    return payloadOf(seen).signingHaltVersion ?? '';
  };
  const resume = (signingHaltVersion: string) =>
    market.send<Record<string, Decided & { signingHaltedBecause: string }>>(
      `mutation ($input: ResumeSigningInput!) { resumeSigning(input: $input) { signingHaltedBecause ${APPROVAL} } }`,
      { input: { signingHaltVersion, reason: 'looked' } },
      first,
    );
  expect(await errorsOf(resume(''))).toEqual(['CONFLICT']);
  await halt('a test');
  const ended = await readVersion();
  // Signing has gone on since, and was halted for the same reason again.
  await db.update(signingAccounts).set({ haltedBecause: null });
  await halt('a test');
  const { errors } = await resume(ended);
  expect(errors.map(({ extensions }) => extensions)).toMatchObject([
    { code: 'CONFLICT', field: 'input.signingHaltVersion' },
  ]);
  const version = await readVersion();
  const repeated = await Promise.all(Array.from({ length: 5 }, async () => payloadOf(await resume(version))));
  expect(new Set(repeated.map((one) => one.approval.id)).size).toBe(1);
  const { approval, signingHaltedBecause } = payloadOf(await resume(version));
  expect(signingHaltedBecause).toBe('a test');
  await halt('something else');
  expect(await errorsOf(grant(approval, second))).toEqual(['CONFLICT']);
  await halt('a test');
  // An approval would end the halts of all accounts.
  await halt('that was not shown', 'another');
  expect(await errorsOf(grant(approval, second))).toEqual(['CONFLICT']);
  await db.update(signingAccounts).set({ haltedBecause: null }).where(eq(signingAccounts.address, 'another'));
  const ofHalts = eq(operatorDecisions.decision, 'RESUME_SIGNING');
  expect(await db.select().from(operatorDecisions).where(ofHalts)).toEqual([]);
  expect(await errorsOf(grant(approval, second))).toEqual([]);
  expect(await db.select().from(operatorDecisions).where(ofHalts)).toMatchObject([
    {
      submissionId: null,
      decidedBy: first.subject,
      reason: 'looked',
      basis: 'a test',
      approvalRequestId: localId(approval),
    },
  ]);
  expect(await db.select({ because: signingAccounts.haltedBecause }).from(signingAccounts)).toEqual([
    { because: null },
    { because: null },
  ]);
});

function inputOfDeposit(): Record<string, unknown> {
  const { quantityKg, valuationUSD, ...input } = depositInput(market.app);
  return { ...input, quantityKg: Number(quantityKg), valuationUSD: Number(valuationUSD) };
}

describe('reconciliation', () => {
  it('takes a key of a request that awaits approval, was withdrawn or refused', async () => {
    const awaiting = async () =>
      (
        await market.send<{ openWork: { awaitingApprovalRequestCount: number } }>(
          '{ openWork { awaitingApprovalRequestCount } }',
          {},
          second,
        )
      ).data?.openWork.awaitingApprovalRequestCount ?? NaN;
    const before = await awaiting();
    await largeProject();
    const { approval: withdrawn } = await largeProject();
    const { approval: refused } = await largeProject();
    expect(await awaiting()).toBe(before + 3);
    await refuse(withdrawn, dev);
    await refuse(refused, second);
    expect(await awaiting()).toBe(before + 1);
    const { findings } = await reconcileAll(market.app.dependencies);
    expect(findings.filter(({ invariant }) => invariant === 'I14')).toEqual([]);
  });
});
