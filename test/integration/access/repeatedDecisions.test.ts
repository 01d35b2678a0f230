/**
 * Requests for approval and decisions sent twice: the first one commits while the second one is checked.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectInput } from '../../../devnet/platform.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import { findApprovalRequest } from '../../../src/resolvers/approvals/approvalRequests.ts';
import { grantApproval, refuseApproval } from '../../../src/resolvers/approvals/decideApproval.ts';
import { requestApproval, requestProjectApproval } from '../../../src/resolvers/approvals/requestApproval.ts';
import { runApproved } from '../../../src/schema/approvals/runApproved.ts';
import { callerOf } from '../../support/callers.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { depositedCashOut, depositInput } from '../../support/warehouse.ts';

let market: Marketplace;
beforeAll(async () => {
  const limits = { aboveTonnes: 10n, aboveKilograms: 10n, lifetimeSeconds: 3600 };
  market = await startMarketplace({ approvalPolicy: { isRequired: true, ...limits } });
});
afterAll(() => market.stop());

const second = callerOf('second', 'operator');

async function largeProject() {
  const { dependencies } = market.app;
  const request = await requestProjectApproval(dependencies, callerOf('dev', 'developer'), projectInput());
  if (!request) throw new Error('the project needs no approval');
  return request;
}

describe('a decision that the same person sends twice', () => {
  it('is granted to both, although the first one takes effect during the checks of the second one', async () => {
    const { dependencies } = market.app;
    const { id } = await largeProject();
    const granted = await grantApproval(dependencies, second, id, async (request, grant) => {
      await grantApproval(dependencies, second, id, (asked, own) => runApproved(dependencies, asked, own));
      return runApproved(dependencies, request, grant);
    });
    expect(granted).toMatchObject({ state: 'APPROVED', decidedBy: 'second' });
  });

  it('tells the one whose decision took effect what became of the operation', async () => {
    const { dependencies } = market.app;
    const { id } = await largeProject();
    const granted = grantApproval(dependencies, second, id, async (_, grant) => {
      await dependencies.db.transaction((tx) => grant.confirm(tx));
      throw new DomainError('LEDGER_REFUSED', 'refused by the test');
    });
    await expect(granted).rejects.toMatchObject({ code: 'LEDGER_REFUSED' });
    expect(await findApprovalRequest(dependencies, id)).toMatchObject({ state: 'APPROVED' });
  });

  it('is refused to both in the same way', async () => {
    const { dependencies } = market.app;
    const { id } = await largeProject();
    const refuse = (reason: string, db = dependencies.db) =>
      refuseApproval({ db }, second, { approvalRequestId: id, reason }, () => true);
    const overtaken: typeof dependencies.db = Object.assign(Object.create(dependencies.db), {
      transaction: async (...asked: Parameters<typeof dependencies.db.transaction>) => {
        await refuse('the first reason');
        return dependencies.db.transaction(...asked);
      },
    });
    const refused = { state: 'REFUSED', decidedBy: 'second', refusalReason: 'the first reason' };
    expect(await refuse('another reason', overtaken)).toMatchObject(refused);
  });
});

it('gives the request of the first use to a second one that it has overtaken during its check', async () => {
  const { dependencies } = market.app;
  const asked = { operation: 'createDeposit', input: depositInput(market.app) } as const;
  const warehouse = callerOf('warehouse', 'warehouse');
  const first: (string | undefined)[] = [];
  const again = await requestApproval(dependencies, warehouse, asked, async () => {
    first.push((await requestApproval(dependencies, warehouse, asked))?.id);
    throw new DomainError('ISSUANCE_CAP_EXCEEDED', 'the first use has filled the cap');
  });
  expect([again?.id]).toEqual(first);
});

it('answers with the request that is approved before its requester hears of it, so that the decision is not made again by one person', async () => {
  const { dependencies } = market.app;
  const { providerSessionId: sessionId } = await depositedCashOut(market.app);
  const asked = { operation: 'setManualSessionStatus', input: { sessionId, status: 'failed' } } as const;
  const overtaken: typeof dependencies.db = Object.assign(Object.create(dependencies.db), {
    transaction: async (insert: Parameters<typeof dependencies.db.transaction>[0]) => {
      const id = (await dependencies.db.transaction(insert)) as string;
      await grantApproval(dependencies, second, id, (granted, grant) =>
        runApproved(dependencies, granted, grant),
      );
      return id;
    },
  });
  const request = await requestApproval(
    { ...dependencies, db: overtaken },
    callerOf('first', 'operator'),
    asked,
  );
  expect(request).toMatchObject({ state: 'APPROVED', decidedBy: 'second' });
});
