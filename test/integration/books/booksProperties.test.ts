/**
 * The books under random interleavings: purchases, retirements, refusals, lost answers and retries by several
 * buyers at once. After each run every invariant that applies must hold, and the model must agree.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findBookContradictions } from '../../support/reconciliation/bookFindings.ts';
import { reconcileProject } from '../../../src/reconciliation/reconcileProject.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { withFaults, type Fault } from '../../support/faults/faultyNetwork.ts';
import { openProject } from '../../../devnet/platform.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';

/**
 * Runs of the property, each with PROJECTS_PER_RUN interleavings side by side: 400, because a thousand took a
 * tenth of the whole suite's time. More of them: `BOOKS_RUNS=250 npm test booksProperties`.
 */
const RUNS = Number(process.env['BOOKS_RUNS'] ?? 10);
const PROJECTS_PER_RUN = 40;
const QUANTITY = 100n;
const BUYERS = ['ann', 'ben', 'cem'];

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
/** Faults of the network's methods in this run, consumed call by call. */
let misfortunes: (Fault | null)[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  network = await embeddedNetworkOn(database.handle);
  const plan = (method: string) => {
    const fault = misfortunes.pop() ?? null;
    if (fault === 'refused') return method === 'draft' ? 'refused' : null;
    return fault;
  };
  platform = await platformOn(database.handle, withFaults(network, plan));
  await platform.start();
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

const amount = fc.bigInt({ min: 1n, max: 60n });
const buyerId = fc.constantFrom(...BUYERS);
/** Few keys, so that commands repeat the keys of others. */
const key = fc.integer({ min: 0, max: 9 });
const command = fc.oneof(
  fc.record({ kind: fc.constant('purchase' as const), buyerId, amount, key }),
  fc.record({ kind: fc.constant('retire' as const), buyerId, amount, key }),
);
const fault = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constantFrom<Fault>('unreachable', 'answer-lost', 'refused') },
);

const EXPECTED_ERRORS = [
  'INSUFFICIENT_BALANCE',
  'INSUFFICIENT_SUPPLY',
  'IDEMPOTENCY_CONFLICT',
  'LEDGER_REFUSED',
];

it('keeps every invariant through random interleavings', { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(command, { minLength: 3, maxLength: 10 }), {
        minLength: PROJECTS_PER_RUN,
        maxLength: PROJECTS_PER_RUN,
      }),
      fc.array(fault, { maxLength: 200 }),
      async (interleavings, faults) => {
        misfortunes = [];
        const projects = await Promise.all(interleavings.map(() => openProject(platform, QUANTITY)));
        misfortunes = faults;
        const outcomes = await Promise.all(
          interleavings.map((commands, i) => executeAll(commands, projects[i])),
        );
        misfortunes = [];
        await Promise.all(projects.map((project, i) => compareWithModel(project, outcomes[i] ?? [])));
      },
    ),
    { numRuns: RUNS },
  );
  expect(await findBookContradictions(database.handle.db)).toEqual([]);
});

type Outcome = { kind: 'purchase' | 'retire'; id: string; amount: bigint } | null;

/** Requires that the answers, the books and the network agree. */
async function compareWithModel(project: TokenizedProject, outcomes: readonly Outcome[]): Promise<void> {
  const done = new Map(outcomes.flatMap((o) => (o === null ? [] : [[o.id, o] as const])));
  const sum = (kind: string) =>
    [...done.values()].filter((o) => o.kind === kind).reduce((total, o) => total + o.amount, 0n);
  const { books, findings, unsettled } = await reconcileProject(platform.dependencies, project);
  expect(unsettled).toBe(0);
  expect(findings).toEqual([]);
  expect(books.inventory).toBe(QUANTITY - sum('purchase'));
  expect(books.retired).toBe(sum('retire'));
  expect(books.retiring).toBe(0n);
}

function executeAll(commands: readonly Command[], project: TokenizedProject | undefined): Promise<Outcome[]> {
  const run = randomUUID();
  return Promise.all(commands.map((c) => execute(c, project?.tokenAddress ?? '', run)));
}

type Command = { kind: 'purchase' | 'retire'; buyerId: string; amount: bigint; key: number };

/** @returns what was done, with the id of its row; null when it was refused */
async function execute(c: Command, tokenAddress: string, run: string): Promise<Outcome> {
  const base = {
    buyerId: c.buyerId,
    tokenAddress,
    amountCO2e: c.amount,
    idempotencyKey: `${run}-${c.key}`,
  };
  try {
    if (c.kind === 'purchase') {
      const { id } = await purchase(platform.dependencies, c.buyerId, base);
      return { kind: c.kind, id, amount: c.amount };
    }
    const input = { ...base, buyerName: `${c.buyerId} Ltd`, note: '' };
    const { id, state } = await retire(platform.dependencies, c.buyerId, input);
    expect(state).toBe('RETIRED');
    return { kind: c.kind, id, amount: c.amount };
  } catch (error) {
    if (error instanceof DomainError && EXPECTED_ERRORS.includes(error.code)) return null;
    throw error;
  }
}
