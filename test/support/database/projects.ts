/**
 * Inserts projects for tests that do not need to create them through the platform.
 */
import { randomUUID } from 'node:crypto';
import type { Db } from '../../../src/db/connection.ts';
import { projects } from '../../../src/db/tables/index.ts';

type Facts = Pick<typeof projects.$inferInsert, 'quantityTonnes'> &
  Partial<Pick<typeof projects.$inferInsert, 'state' | 'tokenAddress'>>;

export async function insertProject(db: Db, facts: Facts): Promise<string> {
  const id = randomUUID();
  await db.insert(projects).values({
    id,
    state: 'OPEN',
    assetId: `TEST-${id}-2024`,
    assetKey: `test-${id}-2024`,
    creditType: 'VCU',
    verificationBodyRef: `TEST-${id}`,
    vintageYear: 2024,
    projectLocation: 'Test valley',
    projectType: 'reforestation',
    countryCode: 'KE',
    tokenName: 'Test valley VCU',
    tokenSymbol: 'CARB',
    deploySalt: `0x${'11'.repeat(32)}`,
    tokenAddress: `C-${id}`,
    developerId: 'developer',
    createdAt: new Date('2026-01-01T00:00:00Z'),
    openedAt: facts.state === undefined || facts.state === 'OPEN' ? new Date('2026-01-01T00:00:00Z') : null,
    ...facts,
  });
  return id;
}
