/**
 * Retirements on the embedded network, stepped by each test, and an operator's reviews of them.
 */
import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { Platform } from '../../src/startup/compose.ts';
import { submissions } from '../../src/db/tables/index.ts';
import { settle, type ReviewCause } from '../../src/ledger/submission/settle.ts';
import type { EmbeddedNetwork } from './embeddedNetwork.ts';
import { listBalances } from '../../src/resolvers/carbon/readBuyerAccount.ts';
import type { TokenizedProject } from '../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../src/resolvers/carbon/retire.ts';
import { openProject } from '../../devnet/platform.ts';
import { burnOutside } from './burnOutside.ts';
import { createTestDatabase, type TestDatabase } from './database/database.ts';
import { embeddedNetworkOn, platformOn } from './platform.ts';

/** Makes a new project for each test, and one buyer holds all its tonnes. */
export function reviewWorld() {
  let database: TestDatabase;
  let network: EmbeddedNetwork;
  /** The worker does not run, because each test makes the steps itself. */
  let platform: Platform;
  let project: TokenizedProject;

  beforeAll(async () => {
    database = await createTestDatabase();
    network = await embeddedNetworkOn(database.handle);
    platform = await platformOn(database.handle, network, { mutationWaitMs: 0 });
  });
  afterAll(async () => {
    await platform.stop();
    await database.drop();
  });
  beforeEach(async () => {
    const other = await platformOn(database.handle, network);
    await other.start();
    project = await openProject(other, 1000n);
    await other.stop();
    await purchase(platform.dependencies, 'acme', {
      buyerId: 'acme',
      tokenAddress: project.tokenAddress,
      amountCO2e: 1000n,
      idempotencyKey: randomUUID(),
    });
  });

  async function pendingRetirement(amountCO2e: bigint) {
    const { id } = await retire(platform.dependencies, 'acme', {
      buyerId: 'acme',
      buyerName: 'Acme Ltd',
      tokenAddress: project.tokenAddress,
      amountCO2e,
      note: 'flights',
      idempotencyKey: randomUUID(),
    });
    const [submission] = await database.handle.db
      .select()
      .from(submissions)
      .where(eq(submissions.targetId, id));
    if (!submission) throw new Error(`retirement ${id} has no submission`);
    return { id, submission, submissionId: submission.id };
  }

  return {
    handle: () => database.handle,
    network: () => network,
    deps: () => platform.dependencies.submission,
    pendingRetirement,
    async underReview(cause: ReviewCause, amountCO2e = 4n) {
      const retirement = await pendingRetirement(amountCO2e);
      const conclusion = { kind: 'needsReview', attemptHash: null, cause, reason: 'a test says so' } as const;
      expect(await settle(platform.dependencies.submission, retirement.submission, conclusion)).toBe(true);
      return retirement;
    },
    async stateOf(submissionId: string) {
      const [row] = await database.handle.db
        .select()
        .from(submissions)
        .where(eq(submissions.id, submissionId));
      return row?.state;
    },
    async balance(): Promise<bigint | undefined> {
      const balances = await listBalances(platform.dependencies, 'acme').list({
        limit: 100,
        inverted: false,
      });
      return balances.find(({ tokenAddress }) => tokenAddress === project.tokenAddress)?.balanceTonnes;
    },
    /** Burns with custody's own key, without the platform's knowledge. */
    burnOutside: (tonnes: bigint) => burnOutside(network, project, tonnes),
  };
}
