/**
 * Wallets through the public API: over HTTP, as programs of buyers and farmers use it.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { UnsignedTransaction } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { startMarketplace, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';
import { openProject } from '../../../devnet/platform.ts';
import { withFaults, type FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { EVENTUALLY } from '../../support/wallets/walletWorld.ts';
import { activeReceipt, cashOutInput } from '../../support/warehouse.ts';

const buyer: TestCaller = { role: 'buyer', subject: 'acme' };
const otherBuyer: TestCaller = { role: 'buyer', subject: 'globex' };
const farmer: TestCaller = { role: 'farmer', subject: 'farmer-1' };
const otherFarmer: TestCaller = { role: 'farmer', subject: 'farmer-2' };
const operator: TestCaller = { role: 'operator', subject: 'ops' };

const ACT = `id kind state holderAddress tokenAddress amount beneficiary note txHash recordIndex stateReason
  unsigned { format payload expiresAt } transactions { state txHash } offRampSession { id }`;
const PREPARE_RETIREMENT = `mutation ($input: PrepareRetirementInput!) { prepareRetirement(input: $input) { holderAct { ${ACT} } } }`;
const PREPARE_DEPOSIT = `mutation ($input: PrepareCashOutDepositInput!) { prepareCashOutDeposit(input: $input) {
  offRampSession { id sessionId state signatureDueAt depositorAddress } holderAct { ${ACT} } } }`;
const SUBMIT = `mutation ($id: ID!, $signed: String!) { submitSigned(input: { holderActId: $id, signed: $signed }) { holderAct { ${ACT} } } }`;

interface Act {
  id: string;
  state: string;
  txHash: string | null;
  recordIndex: number | null;
  unsigned: { format: string; payload: string; expiresAt: number | null };
}

let market: Marketplace;
let faults: FaultPlan = () => null;
const holder = createEmbeddedHolder();
beforeAll(async () => {
  market = await startMarketplace({
    wrapNetwork: (inner) => withFaults(inner, (...call) => faults(...call)),
  });
});
afterAll(() => market.stop());

const sign = ({ unsigned }: Act) =>
  holder.sign({
    ...unsigned,
    format: 'embedded-payload',
    holder: holder.address,
    validUntil: null,
    preparedAtLedger: 0n,
  } satisfies UnsignedTransaction);

function given(act: Act | null | undefined): Act {
  if (!act) throw new Error('nothing to sign');
  return act;
}

async function submit(act: Act, caller: TestCaller) {
  return market.send<{ submitSigned: { holderAct: Act } }>(
    SUBMIT,
    { id: act.id, signed: await sign(act) },
    caller,
  );
}

describe('a retirement', () => {
  it('is prepared, signed, given back, and read in the registry and by its node', async () => {
    const { tokenAddress } = await openProject(market.app, 1000n);
    await market.network.transfer(tokenAddress, holder.address, toBaseUnits(10n));
    const input = {
      tokenAddress,
      amountCO2e: 4,
      holderAddress: holder.address,
      beneficiary: 'Acme',
      idempotencyKey: randomUUID(),
    };
    const prepared = await market.send<{ prepareRetirement: { holderAct: Act } }>(
      PREPARE_RETIREMENT,
      { input },
      buyer,
    );
    const act = given(prepared.data?.prepareRetirement.holderAct);
    expect(act).toMatchObject({
      kind: 'RETIREMENT',
      state: 'PREPARED',
      holderAddress: holder.address,
      tokenAddress,
      amount: toBaseUnits(4n).toString(),
      beneficiary: 'Acme',
      note: '',
      txHash: null,
      recordIndex: null,
      offRampSession: null,
      unsigned: { format: 'EMBEDDED_PAYLOAD', expiresAt: expect.any(Number) as number },
    });

    // The act is unknown to another buyer, before and after it is signed.
    expect((await submit(act, otherBuyer)).errors[0]?.extensions.code).toBe('NOT_FOUND');
    const node = `query ($id: ID!) { node(id: $id) { ... on HolderAct { state recordIndex txHash } } }`;
    expect((await market.send(node, { id: act.id }, otherBuyer)).data).toEqual({ node: null });

    const landed = (await submit(act, buyer)).data?.submitSigned.holderAct;
    expect(landed).toMatchObject({ state: 'LANDED', recordIndex: 0, transactions: [{ state: 'LANDED' }] });
    const { recordIndex, txHash } = landed ?? {};
    const read = await market.send(node, { id: act.id }, buyer);
    expect(read.data).toEqual({ node: { state: 'LANDED', recordIndex, txHash } });
    const registry = async () => {
      const query =
        'query ($t: Address!) { registry(tokenAddress: $t) { records { retiredBy beneficiary txHash } } }';
      return (await market.send<{ registry: object }>(query, { t: tokenAddress })).data?.registry;
    };
    await expect
      .poll(registry, EVENTUALLY)
      .toEqual({ records: [{ retiredBy: holder.address, beneficiary: 'Acme', txHash }] });
    const submissions = await market.send(
      '{ submissions(first: 100) { edges { node { kind signer state } } } }',
      {},
      operator,
    );
    expect(JSON.stringify(submissions.data)).toContain(
      '{"kind":"RETIRE","signer":"HOLDER","state":"SUCCEEDED"}',
    );
  });

  it('does not show its buyer why a node can not be asked, which may name its address', async () => {
    const { tokenAddress } = await openProject(market.app, 1000n);
    await market.network.transfer(tokenAddress, holder.address, toBaseUnits(1n));
    const asked = { tokenAddress, amountCO2e: 1, holderAddress: holder.address, beneficiary: 'Acme' };
    const prepared = await market.send<{ prepareRetirement: { holderAct: Act } }>(
      PREPARE_RETIREMENT,
      { input: { ...asked, idempotencyKey: randomUUID() } },
      buyer,
    );
    const act = given(prepared.data?.prepareRetirement.holderAct);
    faults = (method) => (method === 'outcome' ? 'unreachable' : null);
    const submitting = submit(act, buyer);
    const { sql } = market.database.handle;
    const reasons = () => sql`SELECT 1 FROM submissions WHERE state = 'PENDING' AND state_reason IS NOT NULL`;
    await expect.poll(reasons).toHaveLength(1);
    const node = `query ($id: ID!) { node(id: $id) { ... on HolderAct { state stateReason } } }`;
    expect((await market.send(node, { id: act.id }, buyer)).data).toEqual({
      node: { state: 'SUBMITTED', stateReason: null },
    });
    faults = () => null;
    expect((await submitting).errors).toEqual([]);
  });

  it('is the same request when its note is null, empty or left out', async () => {
    const { tokenAddress } = await openProject(market.app, 1000n);
    await market.network.transfer(tokenAddress, holder.address, toBaseUnits(1n));
    const beneficiary = 'Acme';
    const asked = { tokenAddress, amountCO2e: 1, holderAddress: holder.address, beneficiary };
    const input = { ...asked, idempotencyKey: randomUUID() };
    const answers = [];
    for (const note of [null, '', undefined])
      answers.push(
        await market.send<{ prepareRetirement: { holderAct: Act & { note: string } } }>(
          PREPARE_RETIREMENT,
          { input: { ...input, note } },
          buyer,
        ),
      );
    expect(answers.flatMap(({ errors }) => errors)).toEqual([]);
    const acts = answers.map(({ data }) => data?.prepareRetirement.holderAct);
    expect(new Set(acts.map((act) => act?.id)).size).toBe(1);
    expect(acts[0]?.note).toBe('');
  });

  it('refuses what is no signed transaction, in words that name the field', async () => {
    const { tokenAddress } = await openProject(market.app, 1000n);
    await market.network.transfer(tokenAddress, holder.address, toBaseUnits(1n));
    const about = { tokenAddress, holderAddress: holder.address, beneficiary: 'Acme' };
    const input = { ...about, amountCO2e: 1, idempotencyKey: randomUUID() };
    const prepared = await market.send<{ prepareRetirement: { holderAct: Act } }>(
      PREPARE_RETIREMENT,
      { input },
      buyer,
    );
    const { id } = given(prepared.data?.prepareRetirement.holderAct);
    for (const signed of ['', 'no such thing', '<x>', 'A'.repeat(32_769), 'AAAA', 'ÄÄ==']) {
      const { errors } = await market.send(SUBMIT, { id, signed }, buyer);
      expect([signed.slice(0, 9), errors[0]?.extensions]).toMatchObject([
        signed.slice(0, 9),
        { code: 'BAD_USER_INPUT', field: 'input.signed' },
      ]);
    }
  });
});

describe('a cash-out', () => {
  it('is prepared by its farmer, signed, settled, and refused to others', async () => {
    const receipt = await activeReceipt(market.app, { farmerAddress: holder.address });
    const { payoutAccount: _account, ...rest } = cashOutInput(receipt);
    const input = {
      ...rest,
      tokenAmount: '100',
      holderAddress: holder.address,
      payoutAccount: { type: 'MOBILE_MONEY', accountNumber: '254700123456', provider: 'MTN' },
    };
    const ask = (caller: TestCaller) =>
      market.send<{
        prepareCashOutDeposit: { offRampSession: { id: string; sessionId: string }; holderAct: Act | null };
      }>(PREPARE_DEPOSIT, { input }, caller);
    expect((await ask(otherFarmer)).errors[0]?.extensions.code).toBe('NOT_FOUND');
    const { offRampSession: session, holderAct: act } = (await ask(farmer)).data?.prepareCashOutDeposit ?? {};
    expect(session).toMatchObject({
      state: 'AWAITING_SIGNATURE',
      depositorAddress: holder.address,
      signatureDueAt: expect.any(Number) as number,
    });
    expect(act).toMatchObject({ kind: 'DEPOSIT', beneficiary: null, offRampSession: { id: session?.id } });
    expect((await submit(given(act), otherFarmer)).errors[0]?.extensions.code).toBe('NOT_FOUND');
    const accountToPay = async () => {
      const answer = await market.send<{ setManualSessionStatus: { payoutAccount: object | null } }>(
        `mutation ($id: String!) { setManualSessionStatus(input: { sessionId: $id, status: PROCESSING }) {
          payoutAccount { accountNumber } } }`,
        { id: session?.sessionId },
        operator,
      );
      return answer.data?.setManualSessionStatus.payoutAccount;
    };
    // Without a deposit nothing is to be paid.
    expect(await accountToPay()).toBeNull();
    expect((await submit(given(act), farmer)).data?.submitSigned.holderAct).toMatchObject({
      state: 'LANDED',
    });

    await expect.poll(accountToPay, EVENTUALLY).toEqual({ accountNumber: '254700123456' });
    await market.send(
      'mutation ($id: String!) { setManualSessionStatus(input: { sessionId: $id, status: SETTLED }) { status } }',
      { id: session?.sessionId },
      operator,
    );
    const query = `query ($id: ID!) { offRampSession(id: $id) {
      state holderActs { kind state } transactions { kind state } } }`;
    const read = async () =>
      (await market.send<{ offRampSession: object }>(query, { id: session?.id }, farmer)).data;
    await expect.poll(read, EVENTUALLY).toEqual({
      offRampSession: {
        state: 'SETTLED',
        holderActs: [{ kind: 'DEPOSIT', state: 'LANDED' }],
        transactions: [
          { kind: 'DEPOSIT_OFF_RAMP', state: 'LANDED' },
          { kind: 'CONFIRM_OFF_RAMP_SETTLEMENT', state: 'LANDED' },
        ],
      },
    });
    const { findings } = await reconcileAll(market.app.dependencies);
    expect(findings.filter(({ invariant }) => invariant !== 'I2')).toEqual([]);
  });
});
