/**
 * A worker that has leased some submissions and then can't read how many more it may take releases them. The
 * network has sequences, so one claim takes several statements.
 */
import { eq, sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Db } from '../../../src/db/connection.ts';
import { ConnectionLost } from '../../../src/db/connectionLost.ts';
import { retirements, submissions } from '../../../src/db/tables/index.ts';
import type { SubmissionDependencies } from '../../../src/ledger/submission/submission.ts';
import { createSubmissionWorker } from '../../../src/ledger/submission/worker.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { holding, retirement } from '../../support/holding.ts';
import { startPlatform, type StartedPlatform } from '../../support/platform.ts';

let database: TestDatabase;
let platform: Platform;
let end: StartedPlatform['end'];

beforeEach(async () => {
  ({ database, platform, end } = await startPlatform());
});
afterEach(() => end());

const workerWith = (overrides: Partial<SubmissionDependencies>) =>
  createSubmissionWorker({ ...platform.dependencies.submission, ...overrides });

/** Lands a burn without the platform's knowledge. */
async function landUnheard(): Promise<void> {
  const { dependencies } = platform;
  const tokenAddress = await holding(platform, 10n);
  await platform.submissionWorker.stop();
  await retire({ ...dependencies, mutationWaitMs: 0 }, 'acme', retirement(tokenAddress, 4n));
  let hasSent = false;
  const worker = workerWith({
    crashPoint: async (point) => {
      hasSent ||= point === 'broadcast-sent';
      if (point === 'broadcast-sent' || point === 'outcome-known') throw new Error('it is not heard');
    },
  });
  worker.start();
  await expect.poll(() => hasSent).toBe(true);
  await worker.stop();
  const isPending = eq(submissions.state, 'PENDING');
  await database.handle.db
    .update(submissions)
    .set({ dueAt: sql`now()` })
    .where(isPending);
}

/** Ends the connection at the first question about free sequences; submissions are leased by then. */
function losingConnection(db: Db): { db: Db; losses: () => number } {
  let losses = 0;
  const select = (fields: Parameters<Db['select']>[0]) => {
    if (losses === 0 && 'isReviewDue' in fields) {
      losses++;
      throw new ConnectionLost('a test ends it');
    }
    return db.select(fields);
  };
  const losing = new Proxy(db, {
    get: (target, name) => (name === 'select' ? select : (Reflect.get(target, name) as unknown)),
  });
  return { db: losing, losses: () => losses };
}

it('works on what it leased before a statement of the claim failed', async () => {
  await landUnheard();
  const { network, db } = platform.dependencies.submission;
  const losing = losingConnection(db);
  const signingOrder = {
    accounts: [network.custodyAddress],
    maxOpenPerAccount: 4,
  } as unknown as NonNullable<typeof network.signingOrder>;
  const worker = workerWith({ network: { ...network, signingOrder }, db: losing.db });
  worker.start();
  const countRetired = () => database.handle.db.$count(retirements, eq(retirements.state, 'RETIRED'));
  await expect.poll(countRetired).toBe(1);
  expect(losing.losses()).toBe(1);
  await worker.stop();
});
