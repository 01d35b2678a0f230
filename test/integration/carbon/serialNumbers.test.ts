/**
 * Serial numbers under random retirements, refusals and lost answers: every retired tonne has one, all
 * differ, and refused retirements leave no gap.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openProject } from '../../../devnet/platform.ts';
import { fillToken } from '../../../src/feed/fillToken.ts';
import { findRetirementOfSerial, readSerialRanges } from '../../../src/ledger/books/serialRanges.ts';
import { settlePosting } from '../../../src/ledger/books/postings.ts';
import { postTransfers } from '../../../src/ledger/books/postTransfers.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import { findBookContradictions } from '../../support/reconciliation/bookFindings.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { findRecordBySerial, readSerialNumbers } from '../../../src/resolvers/carbon/serialNumbers.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { changePastRules, type TestDatabase } from '../../support/database/database.ts';
import type { Fault } from '../../support/faults/faultyNetwork.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';

const RUNS = 6;
const PROJECTS_PER_RUN = 6;
const QUANTITY = 400n;

let database: TestDatabase;
let platform: Platform;
/** Faults of the network's methods, consumed call by call. */
let misfortunes: (Fault | null)[] = [];

beforeAll(async () => {
  ({ database, platform } = await startFaultyPlatform((method) => {
    const fault = misfortunes.pop() ?? null;
    return fault === 'refused' && method !== 'draft' ? null : fault;
  }));
});
afterAll(async () => {
  expect(await findBookContradictions(database.handle.db)).toEqual([]);
  await platform.stop();
  await database.drop();
});

async function openWithBuyer(): Promise<TokenizedProject> {
  const project = await openProject(platform, QUANTITY);
  const { tokenAddress } = project;
  const input = { buyerId: 'ann', tokenAddress, amountCO2e: QUANTITY, idempotencyKey: randomUUID() };
  await purchase(platform.dependencies, 'ann', input);
  return project;
}

/** @returns the retirement's id and tonnes, or null when it was refused. */
async function burn({ tokenAddress }: TokenizedProject, amountCO2e: bigint, buyerName: string) {
  const about = { buyerId: 'ann', buyerName, note: '', tokenAddress, amountCO2e };
  try {
    const { id, projectId } = await retire(platform.dependencies, 'ann', {
      ...about,
      idempotencyKey: randomUUID(),
    });
    return { id, projectId, tonnes: amountCO2e };
  } catch (error) {
    if (error instanceof DomainError && error.code === 'LEDGER_REFUSED') return null;
    throw error;
  }
}

const fault = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  { weight: 2, arbitrary: fc.constantFrom<Fault>('unreachable', 'answer-lost', 'refused') },
);

describe('serial numbers', () => {
  it('cover what is retired, once and without a gap', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.bigInt({ min: 1n, max: 40n }), { minLength: 2, maxLength: 10 }), {
          minLength: PROJECTS_PER_RUN,
          maxLength: PROJECTS_PER_RUN,
        }),
        fc.array(fault, { maxLength: 80 }),
        async (amountsOf, faults) => {
          misfortunes = [];
          const projects = await Promise.all(amountsOf.map(openWithBuyer));
          misfortunes = [...faults];
          const burned = await Promise.all(
            projects.map((project, i) =>
              Promise.all((amountsOf[i] ?? []).map((tonnes) => burn(project, tonnes, 'Ann Ltd'))),
            ),
          );
          misfortunes = [];
          for (const [i, project] of projects.entries()) {
            await expectCover(
              project,
              (burned[i] ?? []).filter((one) => one !== null),
            );
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  async function expectCover(
    project: TokenizedProject,
    burned: readonly { id: string; tonnes: bigint }[],
  ): Promise<void> {
    const { db } = database.handle;
    const ranges = await readSerialRanges(
      db,
      burned.map(({ id }) => id),
    );
    let next = 1n;
    for (const [id, { first, last }] of [...ranges].sort(([, a], [, b]) => Number(a.first - b.first))) {
      expect(first).toBe(next);
      expect(last - first + 1n).toBe(burned.find((one) => one.id === id)?.tonnes);
      expect(await findRetirementOfSerial(db, project.id, first)).toBe(id);
      expect(await findRetirementOfSerial(db, project.id, (first + last) / 2n)).toBe(id);
      expect(await findRetirementOfSerial(db, project.id, last)).toBe(id);
      next = last + 1n;
    }
    expect(ranges.size).toBe(burned.length);
    expect(next - 1n).toBe(burned.reduce((sum, { tonnes }) => sum + tonnes, 0n));
    expect(await findRetirementOfSerial(db, project.id, next)).toBeNull();
  }

  it('are found as texts in one spelling alone, and lead to the record on the token', async () => {
    const project = await openWithBuyer();
    const { dependencies } = platform;
    const [one, two] = [await burn(project, 5n, 'One'), await burn(project, 7n, 'Two')];
    if (!one || !two) throw new Error('a retirement was refused');
    const found = await readSerialNumbers(dependencies, [one, two]);
    const { assetId } = project;
    expect(found.get(one)).toEqual({ first: `${assetId}-000001`, last: `${assetId}-000005` });
    expect(found.get(two)).toEqual({ first: `${assetId}-000006`, last: `${assetId}-000012` });

    const beneficiaryOf = async (serial: string) =>
      (await findRecordBySerial(dependencies, serial, '203.0.113.7'))?.beneficiary ?? null;
    expect(await beneficiaryOf(`${assetId}-000005`)).toBe('One');
    expect(await beneficiaryOf(`${assetId}-000006`)).toBe('Two');
    for (const unknown of [
      `${assetId}-000000`,
      `${assetId}-000013`,
      `${assetId}-0000001`,
      `${assetId}-00001`,
      `${assetId}-9223372036854775808`,
      `other-000001`,
      assetId,
      '',
    ]) {
      expect(await beneficiaryOf(unknown), unknown).toBeNull();
    }
  });

  it('are looked up together with few reads of the token, while its record is not in the feed', async () => {
    const project = await openWithBuyer();
    await burn(project, 1n, 'New');
    const { feed } = platform.dependencies;
    await fillToken(feed, { projectId: project.id, tokenAddress: project.tokenAddress });
    await changePastRules(database, sql`DELETE FROM retirement_records WHERE project_id = ${project.id}`);
    let reads = 0;
    const network: LedgerNetwork = {
      ...feed.network,
      retirementRecords: (...asked) => {
        reads += 1;
        return feed.network.retirementRecords(...asked);
      },
    };
    const deps = { ...platform.dependencies, feed: { ...feed, network } };
    const found = await Promise.all(
      Array.from({ length: 20 }, () => findRecordBySerial(deps, `${project.assetId}-000001`, '203.0.113.7')),
    );
    expect(new Set(found.map((record) => record?.beneficiary))).toEqual(new Set(['New']));
    expect([reads > 0, reads <= 4]).toEqual([true, true]);
  });

  it('are not given back: the database refuses a transfer out of what is retired', async () => {
    const project = await openWithBuyer();
    const burned = await burn(project, 3n, 'Ann Ltd');
    const posting = {
      ...settlePosting({
        id: randomUUID(),
        projectId: project.id,
        amountTonnes: 1n,
        retirementId: burned?.id ?? '',
      }),
      kind: 'retirement_return' as const,
      debit: { kind: 'retired' as const },
      credit: { kind: 'buyer' as const, buyerId: 'ann' },
    };
    await expect(
      database.handle.db.transaction((tx) => postTransfers(tx, [posting], new Date())),
    ).rejects.toThrow();
  });
});
