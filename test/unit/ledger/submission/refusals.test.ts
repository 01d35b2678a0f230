/**
 * Conditions under which a refusal ends a call. The reserved credits are then returned, so no unknown
 * transaction may have executed the call already.
 */
import { expect, it } from 'vitest';
import { NetworkRefusal, type Outcome } from '../../../../src/ledger/network/port.ts';
import type { Attempt } from '../../../../src/ledger/submission/attempts.ts';
import { encodeExact } from '../../../../src/ledger/submission/exactJson.ts';
import type { FoundOnNetwork } from '../../../../src/ledger/submission/effects.ts';
import type { Conclusion, Submission } from '../../../../src/ledger/submission/settle.ts';
import { step } from '../../../../src/ledger/submission/step.ts';

const REFUSAL = { reason: 'INSUFFICIENT_BALANCE', message: 'the balance is burned already' } as const;
const RECORD: FoundOnNetwork = { evidence: 'record 3 is like it', result: null };
const BURN = { kind: 'retire', tokenAddress: 'T', amount: 5n, beneficiary: 'Acme', note: '' } as const;
const SUBMISSION = {
  id: 's',
  targetType: 'RETIREMENT',
  targetId: 'r',
  signer: 'CUSTODY',
  call: encodeExact(BURN),
  fruitlessSteps: 0,
  failedSteps: 0,
} as unknown as Submission;

interface Situation {
  open?: Pick<Attempt, 'hash'>[];
  /** The outcome of the signed attempt. */
  outcome?: Outcome;
  /** Whether the database knows all sequences, one value for each reading. */
  known?: boolean[];
  /** Whether an unknown transaction may land without having shown, one value for each reading. */
  unseen?: boolean[];
  /** What the network shows of the call, one value for each look. */
  shown?: (FoundOnNetwork | null)[];
}

/**
 * Runs one step of a burn that every simulation refuses.
 * @returns how the step ended, and the conclusions
 */
async function stepIn({ open = [], outcome, known = [], unseen = [], shown = [] }: Situation) {
  const [readings, looks, waits] = [[...known], [...shown], [...unseen]];
  const concluded: Conclusion[] = [];
  const deps = {
    db: { transaction: async () => readings.shift() ?? true },
    network: {
      signingOrder: { accounts: ['C'], maxOpenPerAccount: 1 },
      nextSequences: async () => new Map([['C', 7n]]),
      draft: () => Promise.reject(new NetworkRefusal(REFUSAL)),
      outcome: async () => outcome,
    },
    effects: { CUSTODY: { RETIREMENT: { retire: { findOnNetwork: async () => looks.shift() ?? null } } } },
    crashPoint: async () => {},
  };
  const store = {
    readAttempts: async () => ({ open, lastNumber: open.length }),
    readSigningState: async () => ({
      haltedBecause: null,
      freeSlots: 1,
      mayLandUnseen: waits.shift() ?? false,
      isReviewDue: false,
    }),
    settle: async (_: unknown, conclusion: Conclusion) => concluded.push(conclusion) > 0,
  };
  const result = await step(deps as never, store as never, SUBMISSION);
  return { result, concluded };
}

it('of a simulation ends it where all is known and nothing shows it', async () => {
  expect(await stepIn({})).toMatchObject({
    result: 'settled',
    concluded: [{ kind: 'refused', attemptHash: null, refusal: REFUSAL }],
  });
});

it('of a simulation ends nothing where the sequences are not known, before it is repeated or after', async () => {
  const nothing = { result: 'progress', concluded: [] };
  expect(await stepIn({ known: [false] })).toEqual(nothing);
  expect(await stepIn({ known: [true, false] })).toEqual(nothing);
  expect(await stepIn({ known: [false], shown: [RECORD, RECORD] })).toEqual(nothing);
});

it('of a simulation ends nothing while what the database has lost may land unseen', async () => {
  expect(await stepIn({ unseen: [false, true] })).toEqual({ result: 'progress', concluded: [] });
});

it('of a simulation is for an operator where the network shows the call, also when it shows only at the last look', async () => {
  const review = [{ kind: 'needsReview', cause: 'FOUND_ON_NETWORK', reason: RECORD.evidence }];
  expect((await stepIn({ shown: [RECORD, RECORD] })).concluded).toMatchObject(review);
  expect((await stepIn({ shown: [null, RECORD] })).concluded).toMatchObject(review);
});

it('of what landed is for an operator, too, where the network shows the call by another transaction', async () => {
  const landed = {
    open: [{ hash: 'h' }],
    outcome: { status: 'refused', ledger: 9n, refusal: REFUSAL },
  } satisfies Situation;
  expect((await stepIn({ ...landed, shown: [RECORD] })).concluded).toMatchObject([
    { kind: 'needsReview', attemptHash: 'h', cause: 'FOUND_ON_NETWORK' },
  ]);
  expect((await stepIn(landed)).concluded).toMatchObject([{ kind: 'refused', attemptHash: 'h', ledger: 9n }]);
});
