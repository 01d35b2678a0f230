/**
 * Pledges of receipts: one lender at a time, and no cash-out of a pledged receipt, whichever program writes.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Tx } from '../../../src/db/connection.ts';
import { offRampSessions, receiptPledges } from '../../../src/db/tables/index.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { STORAGE_SECONDS } from '../../../src/resolvers/warehouse/createDeposit.ts';
import { pledgeReceipt, type PledgeReceiptInput } from '../../../src/resolvers/warehouse/pledgeReceipt.ts';
import { releasePledge } from '../../../src/resolvers/warehouse/releasePledge.ts';
import { changePastRules } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import {
  activeReceipt,
  cashOutInput,
  depositedCashOut,
  farmer,
  pledgeInput,
  providerSays,
  reaches,
} from '../../support/warehouse.ts';

let market: Marketplace;
let platform: Marketplace['app'];

beforeAll(async () => {
  market = await startMarketplace({ withIndexer: false });
  platform = market.app;
});
afterAll(async () => {
  const { findings } = await reconcileAll(platform.dependencies);
  await market.stop();
  expect(findings).toEqual([]);
});

const lender = { subject: 'bank-1', isOperator: false };
const operator = { subject: 'operator-1', isOperator: true };

const pledge = (receipt: TokenizedReceipt, overrides: Partial<PledgeReceiptInput> = {}, caller = farmer) =>
  pledgeReceipt(platform.dependencies, caller, pledgeInput(receipt, overrides));
const release = (receipt: TokenizedReceipt, caller = lender, idempotencyKey: string = randomUUID()) =>
  releasePledge(platform.dependencies, caller, {
    receiptTokenAddress: receipt.tokenAddress,
    loanReference: 'loan 7',
    idempotencyKey,
  });
const cash = (receipt: TokenizedReceipt) => cashOut(platform.dependencies, farmer, cashOutInput(receipt));

describe('a pledge', () => {
  it('keeps the receipt from being cashed out or pledged again, until its lender releases it', async () => {
    const receipt = await activeReceipt(platform);
    expect(await pledge(receipt)).toMatchObject({ pledgedBy: farmer.subject, releasedAt: null });
    await expect(cash(receipt)).rejects.toMatchObject({
      code: 'RECEIPT_PLEDGED',
      details: { field: 'input.receiptTokenAddress' },
    });
    await expect(pledge(receipt, { lenderName: 'Second Bank' })).rejects.toMatchObject({
      code: 'RECEIPT_PLEDGED',
    });
    expect(await release(receipt)).toMatchObject({ releasedBy: lender.subject });
    expect(await cash(receipt)).toMatchObject({ state: 'AWAITING_PAYOUT' });
  });

  it('of the first use is given to a second one that it has overtaken during its checks', async () => {
    const { dependencies } = platform;
    const input = pledgeInput(await activeReceipt(platform));
    const first: string[] = [];
    const expired: typeof dependencies.network = {
      ...dependencies.network,
      async expiryOf([tokenAddress = '']) {
        first.push((await pledgeReceipt(dependencies, farmer, input)).id);
        return [{ tokenAddress, status: 'ACTIVE', isExpired: true }];
      },
    };
    const second = await pledgeReceipt({ ...dependencies, network: expired }, farmer, input);
    expect([second.id]).toEqual(first);
  });

  it('is recorded once for one key, and released once', async () => {
    const receipt = await activeReceipt(platform);
    const input = pledgeInput(receipt);
    const [first, second] = await Promise.all([
      pledgeReceipt(platform.dependencies, farmer, input),
      pledgeReceipt(platform.dependencies, farmer, input),
    ]);
    expect(second?.id).toBe(first?.id);
    await expect(
      pledgeReceipt(platform.dependencies, farmer, { ...input, loanReference: 'loan 8' }),
    ).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
    const [released, again] = await Promise.all([
      release(receipt, lender, 'r'),
      release(receipt, lender, 'r'),
    ]);
    expect([released?.id, again?.id]).toEqual([first?.id, first?.id]);
    // After a new pledge, the first release's key still stands for that release alone.
    const next = await pledge(receipt);
    expect((await release(receipt, lender, 'r')).id).toBe(first?.id);
    expect((await release(receipt)).id).toBe(next.id);
  });

  it('is of one lender, when several are promised it at once', async () => {
    const receipt = await activeReceipt(platform);
    const answers = await Promise.allSettled(
      Array.from({ length: 5 }, (_, i) => pledge(receipt, { lenderName: `Bank ${i}` })),
    );
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'RECEIPT_PLEDGED' });
    }
  });

  it('and a cash-out that begin at once: one of them is refused', async () => {
    for (let round = 0; round < 4; round++) {
      const receipt = await activeReceipt(platform);
      const [pledged, cashed] = await Promise.allSettled([pledge(receipt), cash(receipt)]);
      expect([pledged.status, cashed.status].toSorted()).toEqual(['fulfilled', 'rejected']);
    }
  });

  it('that is not committed yet makes a cash-out wait, and is named to it', async () => {
    const receipt = await activeReceipt(platform);
    const { db } = platform.dependencies;
    let cashed: ReturnType<typeof cash> | undefined;
    const slow: typeof db = Object.assign(Object.create(db), {
      transaction: async <T>(work: (tx: Tx) => Promise<T>) =>
        db.transaction(async (tx) => {
          const done = await work(tx);
          cashed = cash(receipt);
          cashed.catch(() => {});
          await vi.waitUntil(() => hasLockWait(market.database.handle), { timeout: 30_000 });
          return done;
        }),
    });
    await pledgeReceipt({ ...platform.dependencies, db: slow }, farmer, pledgeInput(receipt));
    await expect(cashed).rejects.toMatchObject({ code: 'RECEIPT_PLEDGED' });
  });

  it('is refused while a cash-out is open, and when nothing is left', async () => {
    const receipt = await activeReceipt(platform, { quantityKg: 100n });
    const session = await depositedCashOut(platform, receipt);
    await expect(pledge(receipt)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('1 off-ramp session(s) of it are open') as string,
    });
    await providerSays(platform, session.providerSessionId, 'settled');
    await reaches(platform, session.id, 'SETTLED');
    await expect(pledge(receipt)).rejects.toThrow(/all of it has been cashed out/);
  });

  it('is refused, like a cash-out, before the receipt is issued', async () => {
    const receipt = await activeReceipt(platform);
    const unissued = (activatedAt: Date | null) =>
      changePastRules(
        market.database,
        sql`UPDATE receipts SET state = ${activatedAt ? 'ACTIVE' : 'MINTING'}, activated_at = ${activatedAt?.toISOString() ?? null}
          WHERE id = ${receipt.id}`,
      );
    await unissued(null);
    const refused = { code: 'CONFLICT', details: { state: 'MINTING' } };
    await expect(pledge(receipt)).rejects.toMatchObject(refused);
    await expect(cash(receipt)).rejects.toMatchObject(refused);
    await unissued(receipt.activatedAt);
  });

  it('is refused past the expiry date, before the receipt is marked expired; an earlier one is answered again', async () => {
    const receipt = await activeReceipt(platform);
    const earlier = pledgeInput(await activeReceipt(platform));
    const { id } = await pledgeReceipt(platform.dependencies, farmer, earlier);
    await market.network.advanceClock(Number(STORAGE_SECONDS) + 1);
    await expect(pledge(receipt)).rejects.toMatchObject({ code: 'RECEIPT_EXPIRED' });
    expect(await pledgeReceipt(platform.dependencies, farmer, earlier)).toMatchObject({ id });
  });

  it('is released by its lender and operators alone, and under its loan reference alone', async () => {
    const receipt = await activeReceipt(platform);
    await expect(release(receipt, operator)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: `The receipt at ${receipt.tokenAddress} is not pledged.`,
    });
    await pledge(receipt, { loanReference: 'loan 9' });
    await expect(release(receipt)).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { field: 'input.loanReference' },
    });
    await expect(release(receipt, { subject: 'bank-2', isOperator: false })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    await expect(release(receipt, farmer)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const loanReference = 'loan 9';
    const { tokenAddress: receiptTokenAddress } = receipt;
    const input = { receiptTokenAddress, loanReference, idempotencyKey: randomUUID() };
    expect(await releasePledge(platform.dependencies, operator, input)).toMatchObject({
      releasedBy: 'operator-1',
    });
  });
});

describe('the database', () => {
  const values = (receipt: TokenizedReceipt) => ({
    id: randomUUID(),
    receiptId: receipt.id,
    lenderName: 'a bank',
    loanReference: 'x',
    pledgedBy: 'p',
    pledgedAt: new Date(),
  });

  it('refuses a second open pledge, a changed or deleted one, and a session of a pledged receipt', async () => {
    // The test writes as the owner, whom the rules also bind.
    const { db } = market.database.handle;
    const receipt = await activeReceipt(platform);
    const { id } = await pledge(receipt);
    const refused = { cause: { code: expect.stringMatching(/^23/) } };
    await expect(db.insert(receiptPledges).values(values(receipt))).rejects.toMatchObject(refused);
    const ofIt = eq(receiptPledges.id, id);
    await expect(db.update(receiptPledges).set({ lenderName: 'b' }).where(ofIt)).rejects.toMatchObject(
      refused,
    );
    await expect(db.delete(receiptPledges).where(ofIt)).rejects.toMatchObject(refused);
    const released = { releasedAt: new Date(), releasedBy: 'x' };
    const another = await depositedCashOut(platform);
    await expect(
      db.execute(`INSERT INTO off_ramp_sessions SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(),
        'receipt_id', '${receipt.id}', 'provider_session_id', null, 'state', 'OPENING', 'deposited_at', null))).*
        FROM off_ramp_sessions s WHERE id = '${another.id}'`),
    ).rejects.toMatchObject({ cause: { message: expect.stringContaining('pledged') } });
    await release(receipt);
    await expect(
      db.update(receiptPledges).set({ releasedAt: null, releasedBy: null }).where(ofIt),
    ).rejects.toMatchObject(refused);
    await expect(db.update(receiptPledges).set(released).where(ofIt)).rejects.toMatchObject(refused);
  });

  it('refuses a pledge of a receipt that is being cashed out, or whose cash-out an operator has to decide', async () => {
    const { receiptId } = await depositedCashOut(platform);
    const receipt = { id: receiptId } as TokenizedReceipt;
    const { db } = platform.dependencies;
    const refused = { cause: { message: expect.stringContaining('cashed out') } };
    await expect(db.insert(receiptPledges).values(values(receipt))).rejects.toMatchObject(refused);
    const underReview = market.database.handle.db.transaction(async (tx) => {
      await tx
        .update(offRampSessions)
        .set({ state: 'NEEDS_REVIEW' })
        .where(eq(offRampSessions.receiptId, receiptId));
      await tx.insert(receiptPledges).values(values(receipt));
    });
    await expect(underReview).rejects.toMatchObject(refused);
  });
});

describe('over the API', () => {
  const OPEN_PLEDGE = `openPledge { id lenderName loanReference pledgedAt pledgedBy lenderId releasedAt }`;
  const asFarmer = { role: 'farmer', subject: farmer.subject } as const;
  const asLender = { role: 'lender', subject: lender.subject } as const;

  it('shows the open pledge to the farmer and the lender, and keeps the history', async () => {
    const receipt = await activeReceipt(platform);
    const read = (caller: Parameters<Marketplace['send']>[2]) =>
      market.send<{ receipt: { openPledge: object | null; pledges: { edges: { node: object }[] } } }>(
        `query ($token: Address!) { receipt(tokenAddress: $token) {
          ${OPEN_PLEDGE} pledges(first: 5) { edges { node { lenderName releasedBy } } } } }`,
        { token: receipt.tokenAddress },
        caller,
      );
    expect((await read(asFarmer)).data?.receipt.openPledge).toBeNull();
    const { idempotencyKey, ...named } = pledgeInput(receipt);
    const pledged = await market.send<{ pledgeReceipt: { receiptPledge: { lenderName: string } } }>(
      `mutation ($input: PledgeReceiptInput!) { pledgeReceipt(input: $input) { receiptPledge { lenderName receipt { ${OPEN_PLEDGE} } } } }`,
      { input: { ...named, idempotencyKey } },
      asFarmer,
    );
    expect(pledged.errors).toEqual([]);
    expect(pledged.data?.pledgeReceipt.receiptPledge.lenderName).toBe('First Bank');
    for (const caller of [asFarmer, asLender]) {
      expect((await read(caller)).data?.receipt.openPledge).toMatchObject({
        lenderName: 'First Bank',
        loanReference: 'loan 7',
      });
    }
    expect((await read({ role: 'lender', subject: 'bank-2' })).data).toEqual({ receipt: null });
    const released = await market.send(
      `mutation ($input: ReleasePledgeInput!) { releasePledge(input: $input) { receiptPledge { releasedBy } } }`,
      {
        input: {
          receiptTokenAddress: receipt.tokenAddress,
          loanReference: 'loan 7',
          idempotencyKey: randomUUID(),
        },
      },
      asLender,
    );
    expect(released.errors).toEqual([]);
    const after = (await read(asFarmer)).data?.receipt;
    expect(after?.openPledge).toBeNull();
    expect(after?.pledges.edges).toEqual([
      { node: { lenderName: 'First Bank', releasedBy: lender.subject } },
    ]);
    expect((await read(asLender)).data).toEqual({ receipt: null });
  });

  it('shows a lender its own pledges alone, and after the release nothing more of the receipt', async () => {
    const receipt = await activeReceipt(platform);
    const secondBank = { role: 'lender', subject: 'bank-3' } as const;
    const globalId = (id: string) => Buffer.from(`ReceiptPledge:${id}`).toString('base64url');
    const first = await pledge(receipt);
    await release(receipt);
    const second = await pledge(receipt, { lenderName: 'Second Bank', lenderId: secondBank.subject });
    const read = async (caller: Parameters<Marketplace['send']>[2]) => {
      const { data, errors } = await market.send<{
        receipt: object | null;
        own: object | null;
        other: object | null;
      }>(
        `query ($token: Address!, $own: ID!, $other: ID!) {
          receipt(tokenAddress: $token) { openPledge { lenderName } pledges { totalCount nodes { lenderName } } }
          own: node(id: $own) { ... on ReceiptPledge { lenderName receipt { state openPledge { lenderName } } } }
          other: node(id: $other) { ... on ReceiptPledge { lenderName } } }`,
        { token: receipt.tokenAddress, own: globalId(second.id), other: globalId(first.id) },
        caller,
      );
      expect(errors).toEqual([]);
      return data;
    };
    const openPledge = { lenderName: 'Second Bank' };
    expect(await read(secondBank)).toEqual({
      receipt: { openPledge, pledges: { totalCount: 1, nodes: [openPledge] } },
      own: { ...openPledge, receipt: { state: 'ACTIVE', openPledge } },
      other: null,
    });
    // The earlier lender sees its own pledge, but neither the receipt nor its next lender.
    const earlier = await market.send(
      'query ($id: ID!) { node(id: $id) { ... on ReceiptPledge { lenderName receipt { state } } } }',
      { id: globalId(first.id) },
      asLender,
    );
    expect(earlier).toMatchObject({
      data: { node: { lenderName: 'First Bank', receipt: null } },
      errors: [],
    });
    // Callers with a right to the receipt see all its pledges.
    const whole = { totalCount: 2, nodes: [openPledge, { lenderName: 'First Bank' }] };
    expect(await read(asFarmer)).toMatchObject({
      receipt: { openPledge, pledges: whole },
      other: { lenderName: 'First Bank' },
    });
  });

  it('lists to a lender what is pledged to it now, and sends it each change until the release', async () => {
    const receipt = await activeReceipt(platform);
    await activeReceipt(platform);
    const listed = async (caller: Parameters<Marketplace['send']>[2], filter = {}) => {
      const { data, errors } = await market.send<{
        receipts: { nodes: { id: string; tokenAddress: string }[] };
      }>(
        'query ($filter: ReceiptFilter) { receipts(filter: $filter) { nodes { id tokenAddress } } }',
        { filter },
        caller,
      );
      expect(errors).toEqual([]);
      return data?.receipts.nodes.map(({ tokenAddress }) => tokenAddress);
    };
    const newBank = { role: 'lender', subject: `bank-${randomUUID()}` } as const;
    expect(await listed(newBank)).toEqual([]);
    await pledge(receipt, { lenderId: newBank.subject });
    expect(await listed(newBank)).toEqual([receipt.tokenAddress]);
    expect(await listed({ role: 'lender', subject: 'bank-2' })).toEqual([]);
    // The subject matches, but the role does not.
    expect(await listed({ role: 'warehouse', subject: newBank.subject })).toEqual([]);
    const asOperator = { role: 'operator', subject: 'ops' } as const;
    expect(await listed(asOperator, { lenderIds: [newBank.subject] })).toEqual([receipt.tokenAddress]);
    const free = { tokenAddresses: [receipt.tokenAddress], pledged: false };
    expect(await listed(asOperator, free)).toEqual([]);
    expect(await listed(asOperator, { ...free, pledged: true })).toEqual([receipt.tokenAddress]);

    const query = 'subscription ($id: ID!) { receiptUpdated(id: $id) { state openPledge { lenderName } } }';
    const variables = { id: Buffer.from(`Receipt:${receipt.id}`).toString('base64url') };
    interface Told {
      receiptUpdated: { state: string; openPledge: { lenderName: string } | null };
    }
    const [own, theirs] = [asFarmer, newBank].map((caller) =>
      market.socket(caller).iterate<Told>({ query, variables }),
    );
    const told = async (stream = own) => (await stream?.next())?.value as { data: Told } | undefined;
    const pledged = {
      data: { receiptUpdated: { state: 'ACTIVE', openPledge: { lenderName: 'First Bank' } } },
    };
    expect([await told(own), await told(theirs)]).toEqual([pledged, pledged]);
    await release(receipt, { subject: newBank.subject, isOperator: false });
    expect(await told(own)).toEqual({ data: { receiptUpdated: { state: 'ACTIVE', openPledge: null } } });
    expect(await theirs?.next()).toMatchObject({ done: true });
    expect(await listed(newBank)).toEqual([]);
    await own?.return?.();
  });
});
