/**
 * If anything fails after the provider may have been asked for a session, the session is found by the
 * platform's reference and closed, however late the provider shows it and whichever instance has died.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { manualRampSessions } from '../../../src/db/tables/index.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { OthersShown, type RampProvider, type RampStatus } from '../../../src/ramp/port.ts';
import { cancelCashOut } from '../../../src/resolvers/warehouse/offRamp/cancelCashOut.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { prepareCashOutDeposit } from '../../../src/resolvers/wallets/prepareCashOutDeposit.ts';
import { createSessionPoller } from '../../../src/resolvers/warehouse/offRamp/pollOpenSessions.ts';
import { receivePayoutHint } from '../../../src/resolvers/warehouse/offRamp/receivePayoutHint.ts';
import { stepOffRampSession } from '../../../src/resolvers/warehouse/offRamp/stepOffRampSession.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { landOutside } from '../../support/burnOutside.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { depositInputOf } from '../../support/wallets/walletCashOuts.ts';
import { sendPastUs } from '../../support/wallets/walletWorld.ts';
import { findManualSession } from '../../../src/ramp/manual/manualStatuses.ts';
import {
  activeReceipt,
  cashOutInput,
  decideReviewOf,
  decideSession,
  farmer,
  setSilently,
} from '../../support/warehouse.ts';
import { readReviews } from '../../support/histories.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
const stranger = createEmbeddedHolder();
const holder = createEmbeddedHolder();
/** Made in advance, because running workers would also continue the cash-outs. */
const receipts: TokenizedReceipt[] = [];
let receiptOfHolder: TokenizedReceipt;
/** An instance without workers, which does only what a test asks for. */
let platform: Platform;
let manual: RampProvider;
/** Methods of the network with false answers. */
let saying: Partial<LedgerNetwork> = {};
/** Whether the provider shows the session that it was asked for. */
let isShown = true;

beforeAll(async () => {
  database = await createTestDatabase();
  network = await embeddedNetworkOn(database.handle);
  const working = await platformOn(database.handle, network);
  await working.start();
  for (let i = 0; i < 2 * failures.length + 25; i++) receipts.push(await activeReceipt(working));
  receiptOfHolder = await activeReceipt(working, { farmerAddress: holder.address });
  await working.stop();
  await startAnew();
});
afterEach(() => {
  saying = {};
  isShown = true;
});
afterAll(async () => {
  const { findings } = await reconcileAll(platform.dependencies);
  await platform.stop();
  await database.drop();
  expect(findings).toEqual([]);
});

/** Starts another instance after a kill; only the database is left of the earlier one. */
async function startAnew(): Promise<void> {
  const heard = new Proxy(network, {
    get: (target, name) => Reflect.get(saying, name) ?? (Reflect.get(target, name) as unknown),
  });
  platform = await platformOn(database.handle, heard, { mutationWaitMs: 0 });
  manual = platform.dependencies.ramp;
  platform.dependencies.ramp = {
    ...manual,
    findSessionByReference: async (reference) => (isShown ? manual.findSessionByReference(reference) : null),
  };
}

/** The process dies while its request is under way, so it never gets the answer. */
async function dieWhileAsking(id: string): Promise<void> {
  const { ramp } = platform.dependencies;
  platform.dependencies.ramp = {
    ...ramp,
    async openSession(asked) {
      await manual.openSession(asked);
      throw new Error('killed');
    },
  };
  await expect(step(id)).rejects.toThrow('killed');
  await platform.stop();
  await startAnew();
}

async function step(id: string) {
  await stepOffRampSession(platform.dependencies, await session(id));
  return session(id);
}

async function session(id: string) {
  const found = await findOffRampSession(platform.dependencies, id);
  if (!found) throw new Error('the cash-out has vanished');
  return found;
}

async function atProvider(reference: string) {
  return findManualSession(database.handle.db, eq(manualRampSessions.reference, reference));
}

async function setAtProvider(reference: string, status: RampStatus): Promise<void> {
  await setSilently(database.handle.db, (await atProvider(reference))?.id ?? '', status);
}

async function letQuoteRunOut(id: string, ago: string): Promise<void> {
  await changePastRules(
    database,
    sql`UPDATE off_ramp_sessions SET quote_expires_at = now() - ${ago}::interval WHERE id = ${id}`,
  );
}

function nextReceipt(): TokenizedReceipt {
  const receipt = receipts.pop();
  if (!receipt) throw new Error('too few receipts were made');
  return receipt;
}

/** Each makes one check fail, and may return the kilograms. */
const failures: [string, (receipt: TokenizedReceipt, id: string) => Promise<void> | void][] = [
  [
    'the settlement contract is paused',
    async () => {
      const settlement = await network.settlementContract();
      saying = { settlementContract: async () => settlement && { ...settlement, paused: true } };
    },
  ],
  [
    'there is no settlement contract any more',
    () => void (saying = { settlementContract: async () => null }),
  ],
  [
    'another settlement contract is configured',
    async () => {
      const settlement = await network.settlementContract();
      saying = { settlementContract: async () => settlement && { ...settlement, address: stranger.address } };
    },
  ],
  [
    'the receipt has expired',
    () =>
      void (saying = {
        expiryOf: async ([tokenAddress = '']) => [{ tokenAddress, isExpired: true, status: 'EXPIRED' }],
      }),
  ],
  [
    'custody holds the tokens no longer',
    async ({ tokenAddress }) =>
      void (await network.transfer(tokenAddress, stranger.address, toBaseUnits(1000n))),
  ],
  [
    'the network would refuse the deposit',
    async ({ tokenAddress }) => void (await network.pauseToken(tokenAddress)),
  ],
  [
    'the provider refuses the repetition',
    () => {
      platform.dependencies.ramp.openSession = async () => {
        throw new DomainError('RAMP_REFUSED', 'this reference was used before');
      };
    },
  ],
  ['the quote has run out', (_receipt, id) => letQuoteRunOut(id, '1 minute')],
];

describe.each(failures)('%s, after the provider was asked by an instance that died', (_name, fail) => {
  async function askedFor() {
    const receipt = nextReceipt();
    const { id } = await cashOut(platform.dependencies, farmer, cashOutInput(receipt));
    isShown = false;
    await dieWhileAsking(id);
    await fail(receipt, id);
    return { id, receipt };
  }

  it('is closed when it is found by its reference', async () => {
    const { id } = await askedFor();
    await step(id);
    expect(await session(id)).toMatchObject({ state: 'OPENING', providerSessionId: null });
    // A further step changes nothing, and asks for nothing again.
    await step(id);
    isShown = true;
    const isQuoteOver = (await session(id)).stateReason === null;
    saying = {};
    await step(id);
    expect((await session(id)).providerSessionId).not.toBeNull();
    if (isQuoteOver) return;
    expect(await step(id)).toMatchObject({ state: 'CLOSED' });
    expect(await atProvider(id)).toMatchObject({ status: 'failed' });
  });

  it('is closed as well when it shows up after the end', async () => {
    const { id } = await askedFor();
    await step(id);
    await letQuoteRunOut(id, '6 minutes');
    expect(await step(id)).toMatchObject({ state: 'CLOSED', providerSessionId: null });
    expect(await atProvider(id)).toMatchObject({ status: 'pending' });
    await step(id);
    isShown = true;
    saying = {};
    expect(await step(id)).toMatchObject({ state: 'CLOSED', providerStatus: 'failed' });
    expect(await atProvider(id)).toMatchObject({ status: 'failed' });
  });
});

describe('in a restored copy, which does not know what was asked for since', () => {
  /** Leaves at the provider the session of a request that the copy lacks. */
  async function askedSince(receipt: TokenizedReceipt, status: RampStatus) {
    const { id } = await cashOut(platform.dependencies, farmer, cashOutInput(receipt));
    const { fiatCurrency, fiatAmount } = await session(id);
    const at = new Date();
    const payout = { reference: id, fiatCurrency, fiatAmount, createdAt: at };
    const { db } = database.handle;
    await db.insert(manualRampSessions).values({ id: `manual_${id}`, ...payout });
    await setAtProvider(id, status);
    return id;
  }

  it('is looked for before it ends unasked', async () => {
    const id = await askedSince(nextReceipt(), 'settled');
    await letQuoteRunOut(id, '1 day');
    const found = await step(id);
    expect(found).toMatchObject({ state: 'DEPOSITING', providerStatus: 'settled' });
    expect(found.providerAskedAt).not.toBeNull();
  });

  it('is looked for before it is refused: its tokens may have left custody for its own deposit', async () => {
    const receipt = nextReceipt();
    const id = await askedSince(receipt, 'settled');
    await network.transfer(receipt.tokenAddress, stranger.address, toBaseUnits(1000n));
    expect(await step(id)).toMatchObject({ state: 'CLOSING', providerSessionId: `manual_${id}` });
    expect(await step(id)).toMatchObject({ state: 'DEPOSITING', providerStatus: 'settled' });
  });

  it('is looked for before it is closed for its cancellation', async () => {
    const id = await askedSince(nextReceipt(), 'settled');
    const cancelling = { offRampSessionId: id, idempotencyKey: randomUUID() };
    await cancelCashOut(platform.dependencies, farmer, cancelling);
    expect(await step(id)).toMatchObject({ state: 'CLOSING', providerSessionId: `manual_${id}` });
    expect(await step(id)).toMatchObject({ state: 'NEEDS_REVIEW', providerStatus: 'settled' });
  });

  it('ends as the settlement contract has it: given back', async () => {
    const receipt = nextReceipt();
    const id = await askedSince(receipt, 'failed');
    const sessionId = `manual_${id}`;
    const { tokenAddress } = receipt;
    const amount = toBaseUnits(100n);
    await landOutside(network, { kind: 'depositOffRamp', sessionId, tokenAddress, amount });
    await landOutside(network, { kind: 'refundOffRamp', sessionId });
    await letQuoteRunOut(id, '1 day');
    expect(await step(id)).toMatchObject({ state: 'CLOSING' });
    expect(await step(id)).toMatchObject({ state: 'NEEDS_REVIEW', depositedAt: null });
    expect(await decideReviewOf(platform, id, 'ACCEPT')).toMatchObject({ state: 'REFUNDED' });
  });

  it('ends like that as well when a holder deposited it after it was closed', async () => {
    const prepare = () =>
      prepareCashOutDeposit(
        platform.dependencies,
        farmer,
        depositInputOf(receiptOfHolder, holder, { idempotencyKey }),
      );
    const idempotencyKey = randomUUID();
    const { id } = (await prepare()).session;
    const { providerSessionId } = await step(id);
    const { act } = await prepare();
    await setAtProvider(id, 'failed');
    await step(id);
    expect(await step(id)).toMatchObject({ state: 'CLOSED' });
    if (act) await sendPastUs({ network }, holder, act);
    await landOutside(network, { kind: 'refundOffRamp', sessionId: providerSessionId ?? '' });
    expect(await step(id)).toMatchObject({ state: 'NEEDS_REVIEW', depositedAt: null });
    expect(await decideReviewOf(platform, id, 'ACCEPT')).toMatchObject({ state: 'REFUNDED' });
  });
});

it('is decided by an operator when the provider answers look-ups with other payouts alone, and closed when it is found', async () => {
  const { id } = await cashOut(platform.dependencies, farmer, cashOutInput(nextReceipt()));
  await dieWhileAsking(id);
  const { dependencies } = platform;
  const shown = dependencies.ramp;
  dependencies.ramp = {
    ...shown,
    findSessionByReference: () => Promise.reject(new OthersShown('GET /payouts')),
  };
  await letQuoteRunOut(id, '4 minutes');
  await expect(step(id)).rejects.toThrow('its answer is about other references');
  expect(await session(id)).toMatchObject({ state: 'OPENING' });
  await letQuoteRunOut(id, '6 minutes');
  expect(await step(id)).toMatchObject({ state: 'NEEDS_REVIEW' });
  expect(await decideReviewOf(platform, id, 'ACCEPT')).toMatchObject({ state: 'CLOSED' });
  await expect(step(id)).rejects.toThrow('its answer is about other references');
  expect(await atProvider(id)).toMatchObject({ status: 'pending' });
  dependencies.ramp = shown;
  expect(await step(id)).toMatchObject({ state: 'CLOSED', providerStatus: 'failed' });
  expect(await atProvider(id)).toMatchObject({ status: 'failed' });
});

it('is opened although a later one wants the rest of what custody holds no longer: that one is refused', async () => {
  const receipt = nextReceipt();
  const [{ id: older }, { id: later }] = [
    await cashOut(platform.dependencies, farmer, cashOutInput(receipt, { tokenAmount: 600n })),
    await cashOut(platform.dependencies, farmer, cashOutInput(receipt, { tokenAmount: 400n })),
  ];
  await network.transfer(receipt.tokenAddress, stranger.address, toBaseUnits(400n));
  expect(await step(older)).toMatchObject({ state: 'DEPOSITING' });
  expect(await step(later)).toMatchObject({ state: 'CLOSED', refusalCode: 'INSUFFICIENT_BALANCE' });
});

it('that is cancelled while its end is looked at says so', async () => {
  const { id } = await cashOut(platform.dependencies, farmer, cashOutInput(nextReceipt()));
  await letQuoteRunOut(id, '1 minute');
  const { dependencies } = platform;
  const { ramp } = dependencies;
  const findSessionByReference = async (reference: string) => {
    await cancelCashOut(dependencies, farmer, { offRampSessionId: id, idempotencyKey: randomUUID() });
    return ramp.findSessionByReference(reference);
  };
  await stepOffRampSession({ ...dependencies, ramp: { ...ramp, findSessionByReference } }, await session(id));
  expect(await session(id)).toMatchObject({ state: 'CLOSED', stateReason: 'it was cancelled' });
});

it('that is cancelled while the provider refuses it says that it was cancelled', async () => {
  const { dependencies } = platform;
  const { id } = await cashOut(dependencies, farmer, cashOutInput(nextReceipt()));
  const openSession = async (): Promise<never> => {
    await cancelCashOut(dependencies, farmer, { offRampSessionId: id, idempotencyKey: randomUUID() });
    throw new DomainError('RAMP_REFUSED', 'The ramp provider refused the payout: account_blocked.');
  };
  const ramp = { ...dependencies.ramp, openSession };
  await stepOffRampSession({ ...dependencies, ramp }, await session(id));
  expect(await session(id)).toMatchObject({ state: 'CLOSED', stateReason: 'it was cancelled' });
});

it('answers at once that it was refused, each time', async () => {
  const receipt = nextReceipt();
  const input = cashOutInput(receipt);
  const { id } = await cashOut(platform.dependencies, farmer, input);
  isShown = false;
  await dieWhileAsking(id);
  saying = { settlementContract: async () => null };
  await step(id);
  const patient = { ...platform.dependencies, mutationWaitMs: 20_000 };
  await expect(cashOut(patient, farmer, input)).rejects.toMatchObject({ code: 'CONFLICT' });
});

const wholeReceipt = (receipt: TokenizedReceipt) => cashOutInput(receipt, { tokenAmount: 1000n });

/** A cash-out refused after its provider was asked, and closed before the provider shows the session. */
async function closedUnseen(receipt: TokenizedReceipt): Promise<string> {
  const { id } = await cashOut(platform.dependencies, farmer, wholeReceipt(receipt));
  isShown = false;
  await dieWhileAsking(id);
  saying = { settlementContract: async () => null };
  await step(id);
  await letQuoteRunOut(id, '6 minutes');
  expect(await step(id)).toMatchObject({ state: 'CLOSED' });
  saying = {};
  return id;
}

it('is asked to be closed again within moments when the provider could not close it at once', async () => {
  const id = await closedUnseen(nextReceipt());
  isShown = true;
  const { dependencies } = platform;
  const { ramp } = dependencies;
  const busy = async () => Promise.reject(new DomainError('RAMP_UNAVAILABLE', 'busy'));
  dependencies.ramp = { ...ramp, closeSession: busy };
  await database.handle.sql`UPDATE off_ramp_sessions SET due_at = now() WHERE id = ${id}`;
  const poller = createSessionPoller(dependencies);
  await poller.drain();
  dependencies.ramp = ramp;
  const [next] = await database.handle.sql<{ seconds: number }[]>`
    SELECT extract(epoch FROM due_at - now())::float8 AS seconds FROM off_ramp_sessions
    WHERE id = ${id} AND provider_session_id IS NOT NULL`;
  expect(next?.seconds).toBeLessThan(60);
  expect(await step(id)).toMatchObject({ state: 'CLOSED', providerStatus: 'failed' });
});

it('goes to an operator when what was refused turns out to be paid', async () => {
  const id = await closedUnseen(nextReceipt());
  await setAtProvider(id, 'settled');
  isShown = true;
  expect(await step(id)).toMatchObject({ state: 'NEEDS_REVIEW', providerStatus: 'settled' });
  expect(await readReviews(platform.dependencies, id)).toHaveLength(1);
  await decideSession(platform.dependencies, 'operator', {
    offRampSessionId: id,
    decision: 'ACCEPT',
    reason: 'taken back by hand',
  });
  // An accepted payout is not presented to an operator again.
  expect(await step(id)).toMatchObject({ state: 'CLOSED', providerStatus: 'settled' });
});

it('is looked at once more when a hint comes while it is looked at', async () => {
  const id = await closedUnseen(nextReceipt());
  isShown = true;
  const { dependencies } = platform;
  const { ramp } = dependencies;
  let looks = 0;
  dependencies.ramp = {
    ...ramp,
    async closeSession(sessionId) {
      const isIt = (await session(id)).providerSessionId === sessionId;
      if (isIt && ++looks === 1) await receivePayoutHint(dependencies, sessionId);
      return { status: 'pending' };
    },
  };
  await database.handle.sql`UPDATE off_ramp_sessions SET due_at = now() WHERE id = ${id}`;
  await createSessionPoller(dependencies).drain();
  dependencies.ramp = ramp;
  expect(looks).toBeGreaterThan(1);
  expect(await step(id)).toMatchObject({ state: 'CLOSED', providerStatus: 'failed' });
});

it('is not opened by an instance that does not know yet that it was cancelled', async () => {
  const { id } = await cashOut(platform.dependencies, farmer, cashOutInput(nextReceipt()));
  const old = await session(id);
  const cancelling = { offRampSessionId: id, idempotencyKey: randomUUID() };
  await cancelCashOut(platform.dependencies, farmer, cancelling);
  await stepOffRampSession(platform.dependencies, old);
  expect(await atProvider(id)).toBeUndefined();
  expect(await step(id)).toMatchObject({ state: 'CLOSED', providerAskedAt: null });
});

it('is not deposited while another cash-out has its kilograms, though that has deposited nothing yet', async () => {
  const receipt = nextReceipt();
  const refused = await closedUnseen(receipt);
  const { id } = await cashOut(platform.dependencies, farmer, wholeReceipt(receipt));
  expect(await step(id)).toMatchObject({ state: 'DEPOSITING', depositedAt: null });
  isShown = true;
  await setAtProvider(refused, 'settled');
  expect(await step(refused)).toMatchObject({ state: 'NEEDS_REVIEW' });
  const decide = (decision: 'RETRY' | 'ACCEPT') => decideReviewOf(platform, refused, decision);
  // A cash-out and a RETRY that begin at the same moment run one after the other.
  let retrying: Promise<unknown> | undefined;
  await database.handle.db.transaction(async (tx) => {
    await tx.execute(sql`SELECT FROM receipts WHERE id = ${receipt.id} FOR UPDATE`);
    retrying = decide('RETRY');
    retrying.catch(() => {});
    await expect.poll(() => hasLockWait(database.handle), { timeout: 5_000 }).toBe(true);
  });
  await expect(retrying).rejects.toMatchObject({ code: 'INSUFFICIENT_BALANCE' });
  expect(await decide('ACCEPT')).toMatchObject({ state: 'CLOSED' });
});

it('keeps its kilograms, under review, when the provider pays what was closed', async () => {
  const receipt = nextReceipt();
  const id = await closedUnseen(receipt);
  await setAtProvider(id, 'processing');
  isShown = true;
  expect(await step(id)).toMatchObject({ state: 'NEEDS_REVIEW', providerStatus: 'processing' });
  await expect(cashOut(platform.dependencies, farmer, wholeReceipt(receipt))).rejects.toMatchObject({
    code: 'INSUFFICIENT_BALANCE',
  });
  expect(await decideReviewOf(platform, id, 'ACCEPT')).toMatchObject({ state: 'CLOSED' });
});

it('ends in time when the provider refuses to look for it', async () => {
  const { id } = await cashOut(platform.dependencies, farmer, cashOutInput(nextReceipt()));
  await dieWhileAsking(id);
  const { ramp } = platform.dependencies;
  const findSessionByReference = async () => {
    throw new DomainError('RAMP_REFUSED', 'The ramp provider refused: FORBIDDEN.');
  };
  platform.dependencies.ramp = { ...ramp, findSessionByReference };
  await letQuoteRunOut(id, '6 minutes');
  expect(await step(id)).toMatchObject({ state: 'CLOSED', providerSessionId: null });
  platform.dependencies.ramp = ramp;
  expect(await step(id)).toMatchObject({ state: 'CLOSED', providerStatus: 'failed' });
});

it('ends in time when the provider answers with the payout of another cash-out', async () => {
  const { id: first } = await cashOut(platform.dependencies, farmer, cashOutInput(nextReceipt()));
  const { providerSessionId: sessionId } = await step(first);
  const receipt = nextReceipt();
  const { id } = await cashOut(platform.dependencies, farmer, wholeReceipt(receipt));
  const { ramp } = platform.dependencies;
  const answer = async () => ({ sessionId: sessionId ?? '', status: 'pending' as const });
  platform.dependencies.ramp = { ...ramp, openSession: answer, findSessionByReference: answer };
  const isRefused = (state: string) => ({
    state,
    providerSessionId: null,
    stateReason: expect.stringMatching(/another cash-out/),
  });
  expect(await step(id)).toMatchObject(isRefused('OPENING'));
  expect(await step(id)).toMatchObject(isRefused('OPENING'));
  await letQuoteRunOut(id, '6 minutes');
  expect(await step(id)).toMatchObject(isRefused('CLOSED'));
  expect(await step(id)).toMatchObject(isRefused('CLOSED'));
  platform.dependencies.ramp = ramp;
  expect(await session(first)).toMatchObject({ state: 'DEPOSITING', providerSessionId: sessionId });
  expect(await cashOut(platform.dependencies, farmer, wholeReceipt(receipt))).toMatchObject({
    state: 'OPENING',
  });
});

it.each([
  ['pays', 'settled'],
  ['begins to pay', 'processing'],
] as const)(
  'goes to an operator when the provider %s it under the id of another cash-out',
  async (_, status) => {
    const { id: first } = await cashOut(platform.dependencies, farmer, cashOutInput(nextReceipt()));
    const { providerSessionId } = await step(first);
    const receipt = nextReceipt();
    const { id } = await cashOut(platform.dependencies, farmer, wholeReceipt(receipt));
    const { ramp } = platform.dependencies;
    let shown: RampStatus = status;
    const answer = async () => ({ sessionId: providerSessionId ?? '', status: shown });
    platform.dependencies.ramp = { ...ramp, openSession: answer, findSessionByReference: answer };
    expect(await step(id)).toMatchObject({ state: 'OPENING' });
    await letQuoteRunOut(id, '6 minutes');
    expect(await step(id)).toMatchObject({ state: 'NEEDS_REVIEW', providerStatus: status });
    // The payout is made or will be, so its kilograms are not given away again.
    await expect(cashOut(platform.dependencies, farmer, wholeReceipt(receipt))).rejects.toMatchObject({
      code: 'INSUFFICIENT_BALANCE',
    });
    await expect(decideReviewOf(platform, id, 'RETRY')).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await decideReviewOf(platform, id, 'ACCEPT')).toMatchObject({ state: 'CLOSED' });
    // A decided session is not presented again, unless it is paid after all.
    expect(await step(id)).toMatchObject({ state: 'CLOSED' });
    shown = 'settled';
    expect(await step(id)).toMatchObject({ state: status === 'settled' ? 'CLOSED' : 'NEEDS_REVIEW' });
    platform.dependencies.ramp = ramp;
  },
);

it('is not ended by an instance that does not know yet that another one has asked', async () => {
  const { id } = await cashOut(platform.dependencies, farmer, cashOutInput(nextReceipt()));
  const old = await session(id);
  isShown = false;
  await dieWhileAsking(id);
  saying = { settlementContract: async () => null };
  await stepOffRampSession(platform.dependencies, old);
  expect(await session(id)).toMatchObject({ state: 'OPENING', refusalCode: 'CONFLICT' });
  saying = {};
  isShown = true;
  await step(id);
  expect(await step(id)).toMatchObject({ state: 'CLOSED', providerStatus: 'failed' });
});

describe('a session that is to be closed', () => {
  async function closing(): Promise<string> {
    const { id } = await cashOut(platform.dependencies, farmer, cashOutInput(nextReceipt()));
    isShown = false;
    await dieWhileAsking(id);
    saying = { settlementContract: async () => null };
    await step(id);
    isShown = true;
    saying = {};
    expect(await step(id)).toMatchObject({ state: 'CLOSING' });
    return id;
  }
  it('and that its provider has forgotten goes to an operator, who can decide', async () => {
    const id = await closing();
    const forgotten = async () => {
      throw new DomainError('RAMP_REFUSED', 'The ramp provider refused: NOT_FOUND.');
    };
    const { ramp } = platform.dependencies;
    platform.dependencies.ramp = { ...ramp, closeSession: forgotten, getStatus: forgotten };
    // The provider may still show a new session a little later.
    await expect(step(id)).rejects.toMatchObject({ code: 'RAMP_REFUSED' });
    await changePastRules(
      database,
      sql`UPDATE off_ramp_sessions SET created_at = created_at - interval '10 minutes' WHERE id = ${id}`,
    );
    expect(await step(id)).toMatchObject({ state: 'NEEDS_REVIEW' });
    const [review] = await readReviews(platform.dependencies, id);
    expect(review?.flaggedBecause).toContain('NOT_FOUND');
    // Questions to the provider begin anew: after many fruitless ones, the next pauses would be long.
    await database.handle.sql`UPDATE off_ramp_sessions SET fruitless_steps = 30 WHERE id = ${id}`;
    expect(await decideReviewOf(platform, id, 'RETRY')).toMatchObject({
      state: 'CLOSING',
      fruitlessSteps: 0,
    });
    platform.dependencies.ramp = ramp;
    expect(await step(id)).toMatchObject({ state: 'CLOSED' });
  });

  it('is closed by what its own settlement contract shows, when another one is configured', async () => {
    const id = await closing();
    const settlement = await network.settlementContract();
    const asked: string[] = [];
    saying = {
      settlementContract: async () => settlement && { ...settlement, address: stranger.address },
      offRampDeposit: async (contract) => (asked.push(contract), null),
    };
    expect(await step(id)).toMatchObject({ state: 'CLOSED' });
    expect(asked).toEqual([settlement?.address]);
  });
});

it('is closed for a holder, too', async () => {
  const input = depositInputOf(receiptOfHolder, holder);
  const { session: begun } = await prepareCashOutDeposit(platform.dependencies, farmer, input);
  isShown = false;
  await dieWhileAsking(begun.id);
  saying = { settlementContract: async () => null };
  await step(begun.id);
  isShown = true;
  saying = {};
  await step(begun.id);
  expect(await step(begun.id)).toMatchObject({ state: 'CLOSED' });
  expect(await atProvider(begun.id)).toMatchObject({ status: 'failed' });
});
