/**
 * Kills the instance of the approving person at each point of an approval: the approved operation is done
 * once, or not yet.
 */
import { expect, it } from 'vitest';
import { findApprovalRequest } from '../../src/resolvers/approvals/approvalRequests.ts';
import { grantApproval } from '../../src/resolvers/approvals/decideApproval.ts';
import { requestProjectApproval } from '../../src/resolvers/approvals/requestApproval.ts';
import { runApproved } from '../../src/schema/approvals/runApproved.ts';
import { findProjectById } from '../../src/resolvers/carbon/findProject.ts';
import { projectInput } from '../../devnet/platform.ts';
import { useInstances } from './instances.ts';
import { secondPerson } from './order.ts';

const { instances } = useInstances();

async function requestOnce(): Promise<string> {
  const { dependencies } = await instances.start(1);
  const requester = { ...secondPerson, subject: 'first' };
  const policy = { isRequired: true, aboveTonnes: 0n, aboveKilograms: 0n, lifetimeSeconds: 3600 };
  const asked = projectInput({ quantityCO2e: 50n });
  const made = await requestProjectApproval({ ...dependencies, approvalPolicy: policy }, requester, asked);
  await instances.stop();
  return made?.id ?? '';
}

it('leaves it awaiting, and nothing done, when the process dies before the commit', async () => {
  const id = await requestOnce();
  await instances.crash({
    killAt: 'approval-uncommitted',
    occurrence: 1,
    request: { kind: 'grantApproval', id },
  });
  const { dependencies } = await instances.start(1);
  expect(await findApprovalRequest(dependencies, id)).toMatchObject({ state: 'AWAITING', decidedBy: null });
  expect(await findProjectById(dependencies, id)).toBeNull();
  const run: Parameters<typeof grantApproval>[3] = (request, grant) =>
    runApproved(dependencies, request, grant);
  expect(await grantApproval(dependencies, secondPerson, id, run)).toMatchObject({ state: 'APPROVED' });
  expect(await findProjectById(dependencies, id)).toMatchObject({ state: 'OPEN', developerId: 'first' });
});

it('goes on by itself, once, when the process dies after the commit', async () => {
  const id = await requestOnce();
  await instances.crash({
    killAt: 'request-committed',
    occurrence: 1,
    request: { kind: 'grantApproval', id },
  });
  const { dependencies } = await instances.start(1);
  expect(await findApprovalRequest(dependencies, id)).toMatchObject({
    state: 'APPROVED',
    decidedBy: 'second',
  });
  const again = grantApproval(dependencies, secondPerson, id, () => Promise.reject(new Error('run again')));
  expect(await again).toMatchObject({ state: 'APPROVED' });
  await expect.poll(async () => (await findProjectById(dependencies, id))?.state).toBe('OPEN');
});
