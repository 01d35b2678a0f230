/**
 * Kills an instance at every crash point of a retirement and of an issuance, starts again as one instance and
 * as two, and proves that the work was done exactly once.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import type { Platform } from '../../src/compose.ts';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { createProject } from '../../src/resolvers/createProject.ts';
import type { TokenizedProject } from '../../src/resolvers/findProject.ts';
import { purchase } from '../../src/resolvers/purchase.ts';
import { retire } from '../../src/resolvers/retire.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import {
  custodySecretKey,
  embeddedNetworkOn,
  openProject,
  platformOn,
  projectInput,
} from '../harness/platform.ts';
import type { InstanceOrder } from './instance.ts';

let database: TestDatabase;
let handles: DatabaseHandle[] = [];
let platforms: Platform[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await stopInstances();
  await database.drop();
});

async function startInstances(count: number): Promise<Platform> {
  for (let i = 0; i < count; i++) {
    const handle = openDatabase({ url: database.url, poolSize: 5, applicationName: `instance ${i}` });
    handles.push(handle);
    platforms.push(await platformOn(handle, await embeddedNetworkOn(handle)));
  }
  await Promise.all(platforms.map((platform) => platform.start()));
  const [first] = platforms;
  if (!first) throw new Error('no instance was started');
  return first;
}

async function stopInstances(): Promise<void> {
  await Promise.all(platforms.map((platform) => platform.stop()));
  await Promise.all(handles.map((handle) => handle.close()));
  platforms = [];
  handles = [];
}

/** Runs an instance until it kills itself. */
async function crash(order: Omit<InstanceOrder, 'databaseUrl' | 'secretKey'>): Promise<void> {
  const tsx = createRequire(import.meta.url).resolve('tsx/cli');
  const program = fileURLToPath(new URL('instance.ts', import.meta.url));
  const argument = JSON.stringify({ ...order, databaseUrl: database.url, secretKey: custodySecretKey });
  const child = spawn(process.execPath, [tsx, program, argument], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  // tsx hands its child's SIGKILL on, as a signal or as 128 + 9; a point that was never passed exits with 3.
  expect(code === null || code === 137, `exit code ${code}`).toBe(true);
}

const RETIRE_POINTS = [
  'request-committed',
  'attempt-signed',
  'attempt-committed',
  'broadcast-sent',
  'outcome-known',
  'settlement-uncommitted',
  'settlement-committed',
] as const;

describe.each([1, 2])('restarted as %i instances', (instances) => {
  it.each(RETIRE_POINTS)('retires exactly once after a crash at %s', async (killAt) => {
    const project = await prepareHolding();
    const input = {
      buyerId: 'acme',
      buyerName: 'Acme Ltd',
      tokenAddress: project.tokenAddress,
      note: '',
      idempotencyKey: randomUUID(),
    };
    await crash({
      killAt,
      occurrence: 1,
      request: { kind: 'retire', input: { ...input, amountCO2e: '30' } },
    });

    const platform = await startInstances(instances);
    await expireClaims();
    const retirement = await retire(platform.dependencies, 'acme', { ...input, amountCO2e: 30n });
    expect(retirement.state).toBe('RETIRED');
    const { network } = platform.dependencies;
    expect(await network.carbonTotals(project.tokenAddress)).toEqual({
      totalSupply: toBaseUnits(70n),
      totalRetired: toBaseUnits(30n),
      totalRetirements: 1,
    });
    expect(await audit(platform.dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
  });
});

describe('between deploy and mint', () => {
  // The first passing of each point belongs to the deploy, the second to the mint.
  const cases = RETIRE_POINTS.flatMap((killAt) =>
    (killAt === 'request-committed' ? [1] : [1, 2]).map((occurrence) => ({ killAt, occurrence })),
  );
  it.each(cases)(
    'issues exactly once after a crash at $killAt ($occurrence)',
    async ({ killAt, occurrence }) => {
      const input = projectInput({ quantityCO2e: 50n });
      const request = { kind: 'createProject', input: { ...input, quantityCO2e: '50' } } as const;
      await crash({ killAt, occurrence, request });

      const platform = await startInstances(2);
      await expireClaims();
      const project = await createProject(platform.dependencies, 'developer', input);
      expect(project.state).toBe('OPEN');
      const supply = await platform.dependencies.network.totalSupply(project.tokenAddress ?? '');
      expect(supply).toBe(toBaseUnits(50n));
      expect(await audit(platform.dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
    },
  );
});

async function prepareHolding(): Promise<TokenizedProject> {
  const platform = await startInstances(1);
  const project = await openProject(platform, 100n);
  await purchase(platform.dependencies, 'acme', {
    buyerId: 'acme',
    tokenAddress: project.tokenAddress,
    amountCO2e: 100n,
    idempotencyKey: randomUUID(),
  });
  await stopInstances();
  return project;
}

/** A dead instance's claims run out after a minute; the tests need not wait for that. */
async function expireClaims(): Promise<void> {
  await database.handle.sql`UPDATE submissions SET due_at = now() WHERE state = 'PENDING'`;
}
