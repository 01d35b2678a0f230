/**
 * The ledger from which a database that may be an old copy looks for unknown tokens.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { attempts, projects, receipts, signingAccounts } from '../../../src/db/tables/index.ts';
import { markDead } from '../../../src/ledger/submission/attempts.ts';
import { enqueueSubmission } from '../../../src/ledger/submission/enqueue.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { findUnknownTokens } from '../../../src/reconciliation/unknownTokens.ts';
import { insertProject } from '../../support/database/projects.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertDueReceipts } from '../../support/database/receipts.ts';

const deps = { clock: systemClock, ids: { next: () => randomUUID() } };
const CHANNELS = ['C1', 'C2'];
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.handle.db
    .insert(signingAccounts)
    .values(CHANNELS.map((address) => ({ address, nextSequence: 9n, haltedBecause: 'an old copy' })));
});
afterAll(() => database.drop());

/**
 * Inserts an attempt.
 * @returns its hash
 */
async function attempt(
  signer: 'CUSTODY' | 'HOLDER',
  source: string,
  of: Pick<typeof attempts.$inferInsert, 'sequence' | 'preparedAtLedger'> &
    Partial<typeof attempts.$inferInsert> & { targetId?: string },
): Promise<string> {
  const { targetId = randomUUID(), ...columns } = of;
  const hash = `0x${randomUUID()}`;
  await database.handle.db.transaction(async (tx) => {
    const call = { kind: 'retire', tokenAddress: 'T', amount: 1n, beneficiary: 'b', note: '' } as const;
    const intent = { targetType: 'RETIREMENT', targetId, call, signer } as const;
    const submissionId = columns.submissionId ?? (await enqueueSubmission(tx, deps, intent));
    const bytes = { signedBytes: Buffer.from('signed'), createdAt: new Date() };
    await tx
      .insert(attempts)
      .values({ hash, submissionId, number: 1, state: 'OPEN', source, ...bytes, ...columns });
  });
  return hash;
}

async function lookedFrom(): Promise<bigint | null | undefined> {
  let from: bigint | null | undefined;
  await findUnknownTokens({
    db: database.handle.db,
    network: {
      findToken: async () => null,
      tokensDeployedSince: async (ledger) => {
        from = ledger;
        return [];
      },
    },
  });
  return from;
}

it('looks from what custody has signed last, whatever holders and replacements have signed since the copy was restored', async () => {
  expect(await lookedFrom()).toBeNull();
  await attempt('HOLDER', 'W1', { sequence: 40n, preparedAtLedger: 900n });
  expect(await lookedFrom()).toBeNull();
  await attempt('CUSTODY', 'C1', { sequence: 7n, preparedAtLedger: 990n });
  const replaces = await attempt('CUSTODY', 'C1', { sequence: 8n, preparedAtLedger: 1_000n });
  await attempt('CUSTODY', 'C2', { sequence: 3n, preparedAtLedger: 980n });
  expect(await lookedFrom()).toBe(1_000n);

  await attempt('HOLDER', 'W1', { sequence: 41n, preparedAtLedger: 2_000n });
  const [replaced] = await database.handle.db
    .select()
    .from(attempts)
    .where(sql`hash = ${replaces}`);
  const of = { submissionId: replaced?.submissionId ?? '', number: 2, replaces };
  await attempt('CUSTODY', 'C1', { ...of, sequence: 8n, preparedAtLedger: 1_999n });
  expect(await lookedFrom()).toBe(1_000n);
});

it('takes a token for the one that is asked for only where this database has signed its deploy', async () => {
  const { db } = database.handle;
  const network = { findToken: async () => 'TOKEN', tokensDeployedSince: async () => ['TOKEN'] };
  const unknown = [
    'custody has deployed the token TOKEN, which no project and no receipt of this database has',
  ];
  // The copy asks again for a token that the original has deployed.
  const deploying = { quantityTonnes: 100n, state: 'DEPLOYING', tokenAddress: null } as const;
  const targetId = await insertProject(db, deploying);
  expect(await findUnknownTokens({ db, network })).toEqual(unknown);
  const hash = await attempt('CUSTODY', 'C1', { targetId, sequence: 9n, preparedAtLedger: 1_001n });
  expect(await findUnknownTokens({ db, network })).toEqual([]);
  // A dead attempt has deployed nothing: the original has signed the deploy anew.
  await markDead(db, [hash], 'its time was over', new Date());
  expect(await findUnknownTokens({ db, network })).toEqual(unknown);
});

it('takes no refused deploy for one that may have deployed the token', async () => {
  const { db } = database.handle;
  const network = { findToken: async () => 'ANOTHER', tokensDeployedSince: async () => ['ANOTHER'] };
  const deploying = { quantityTonnes: 100n, state: 'DEPLOYING', tokenAddress: null } as const;
  const targetId = await insertProject(db, deploying);
  await attempt('CUSTODY', 'C1', { targetId, sequence: 10n, preparedAtLedger: 1_002n });
  expect(await findUnknownTokens({ db, network })).toEqual([]);
  await db.update(projects).set({ state: 'REFUSED' }).where(eq(projects.id, targetId));
  expect(await findUnknownTokens({ db, network })).toHaveLength(1);
});

it('knows the tokens of projects and of receipts, and those that their deploys may have deployed', async () => {
  const { db } = database.handle;
  const asked: string[] = [];
  const deployed = ['OF-PROJECT', 'same second 1', 'OF-DEPLOY'];
  const network = {
    async findToken({ assetId }: { assetId: string }) {
      asked.push(assetId);
      return assetId === 'WH-2' ? 'OF-DEPLOY' : null;
    },
    tokensDeployedSince: async () => deployed,
  };
  const unknown = async () =>
    (await findUnknownTokens({ db, network })).map((sentence) => /the token (.+), which/.exec(sentence)?.[1]);
  expect(await unknown()).toEqual(deployed);
  await insertProject(db, { quantityTonnes: 100n, tokenAddress: 'OF-PROJECT' });
  await insertDueReceipts(db, 2);
  expect(await unknown()).toEqual(['OF-DEPLOY']);
  await changePastRules(
    database,
    sql`UPDATE receipts SET state = 'DEPLOYING', token_address = NULL, activated_at = NULL WHERE asset_id = 'WH-2'`,
  );
  expect(await unknown()).toEqual(['OF-DEPLOY']);
  const both = await db.select().from(receipts);
  for (const [at, { id: targetId }] of both.entries())
    await attempt('CUSTODY', 'C1', { targetId, sequence: 11n + BigInt(at), preparedAtLedger: 1_003n });
  expect(await unknown()).toEqual([]);
  // Deploys that have ended would take the places of open ones.
  expect(asked).toEqual(['WH-2']);
});

it('looks up a hundred open deploys of projects at most', async () => {
  const { db } = database.handle;
  const deploying = { quantityTonnes: 100n, state: 'DEPLOYING', tokenAddress: null } as const;
  for (let at = 0n; at < 101n; at++) {
    const targetId = await insertProject(db, deploying);
    await attempt('CUSTODY', 'C1', { targetId, sequence: 100n + at, preparedAtLedger: 1_004n });
  }
  let asked = 0;
  const findToken = async ({ assetId }: { assetId: string }) => {
    if (!assetId.startsWith('WH-')) asked += 1;
    return null;
  };
  await findUnknownTokens({ db, network: { findToken, tokensDeployedSince: async () => ['TOKEN'] } });
  expect(asked).toBe(100);
});
