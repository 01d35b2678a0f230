/**
 * Faults that raise no error: differing clocks, token lists with holes, deliveries that can't be handled, two
 * workers on one submission.
 */
import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/lib/clock.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { submissions } from '../../../src/db/tables/index.ts';
import { fillToken } from '../../../src/feed/fillToken.ts';
import { readRetirementHints } from '../../../src/indexer/retirementEvent.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { intentOf, settle } from '../../../src/ledger/submission/settle.ts';
import { signAttempts } from '../../../src/ledger/submission/signAttempt.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { awaitState } from '../../../src/resolvers/core/awaitState.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { openProject } from '../../../devnet/platform.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { prepare } from '../../../devnet/calls.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;

beforeEach(async () => {
  database = await createTestDatabase();
  network = await embeddedNetworkOn(database.handle);
  platform = await platformOn(database.handle, network);
});
afterEach(async () => {
  await platform.stop();
  await database.drop();
});

const HOUR_MS = 3_600_000;
const ahead: Clock = { now: () => new Date(Date.now() + HOUR_MS) };

async function burn(project: TokenizedProject): Promise<void> {
  const { tokenAddress } = project;
  const call = { kind: 'retire', tokenAddress, amount: toBaseUnits(1n), beneficiary: 'b', note: '' } as const;
  await network.broadcast((await prepare(network, call)).signedBytes);
}

describe('clocks', () => {
  it('of an instance that is an hour ahead do not keep its submissions waiting', async () => {
    await platform.stop();
    platform = await platformOn(database.handle, network, { clock: ahead, mutationWaitMs: 10_000 });
    await platform.start();
    expect((await openProject(platform, 5n)).state).toBe('OPEN');
  });

  it('that are turned back do not prolong the wait of a mutation', async () => {
    let nowMs = Date.now();
    const clock = { now: () => new Date(nowMs) };
    const deps = { ...platform.dependencies, clock, mutationWaitMs: 1_000 };
    const waiting = awaitState(
      deps,
      randomUUID(),
      async () => {
        nowMs -= HOUR_MS;
        return 'PENDING';
      },
      () => false,
    );
    expect(await waiting).toBe('PENDING');
  }, 20_000);
});

describe('a token whose list', () => {
  it.each([
    ['begins too late', (index: number) => index + 1],
    ['repeats what is stored', () => -1],
  ])(
    '%s is not stored, and does not keep the reader busy for ever',
    async (_name, wrong) => {
      await platform.start();
      const project = await openProject(platform, 5n);
      await burn(project);
      const lying: EmbeddedNetwork = {
        ...network,
        async retirementRecords(...args) {
          const page = await network.retirementRecords(...args);
          return { ...page, records: page.records.map((r) => ({ ...r, index: wrong(r.index) })) };
        },
      };
      const token = { projectId: project.id, tokenAddress: project.tokenAddress };
      await expect(fillToken({ ...platform.dependencies.feed, network: lying }, token)).rejects.toThrow();
      expect((await fillToken(platform.dependencies.feed, token)).totalRetirements).toBe(1);
    },
    20_000,
  );
});

describe('two workers on one submission', () => {
  it('do not send it to an operator when the other has signed meanwhile', async () => {
    const waiting = await platformOn(database.handle, network, { mutationWaitMs: 0 });
    await openProject(waiting, 5n).catch(() => {});
    const [submission] = await database.handle.db.select().from(submissions);
    if (!submission) throw new Error('nothing was enqueued');
    const deps = waiting.dependencies.submission;
    const intent = intentOf(submission);
    await signAttempts(deps, [{ intent, draft: await network.draft(intent.call) }]);
    await settle(deps, submission, {
      kind: 'needsReview',
      attemptHash: null,
      cause: 'UNDETERMINABLE',
      reason: 'late',
    });
    const [after] = await database.handle.db
      .select()
      .from(submissions)
      .where(eq(submissions.id, submission.id));
    expect(after?.state).toBe('PENDING');
    await waiting.stop();
  });
});

describe('deliveries', () => {
  it('that could never be stored are no retirements', () => {
    const body = (event: object) =>
      Buffer.from(
        JSON.stringify({
          event: {
            id: 'e',
            contract: 'C',
            txHash: 't',
            data: { topics: ['G'], value: ['1', 'b', 0, 1] },
            ...event,
          },
        }),
      );
    expect(readRetirementHints(body({}))).toHaveLength(1);
    expect(readRetirementHints(body({ id: 'e\u0000' }))).toEqual([]);
    const late = { data: { topics: ['G'], value: ['1', 'b', 2 ** 31, 1] } };
    expect(readRetirementHints(body(late))).toEqual([]);
  });
});
