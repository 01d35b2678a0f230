/**
 * Inserts retirement records, as the feed would have written them, without a network.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { encodeStrkey } from '../../../src/lib/strkey.ts';
import type { DatabaseHandle } from '../../../src/db/connection.ts';
import { feedHead, projects, retirementRecords } from '../../../src/db/tables/index.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';

export interface SeededProject {
  id: string;
  /** The id in the GraphQL contract. */
  globalId: string;
  tokenAddress: string;
}

interface Seed {
  projects: readonly { countryCode: string; vintageYear: number }[];
  /** Records in the feed's order; the note of each is its number. */
  records: readonly {
    project: number;
    timestamp: number;
    tonnes: number;
    beneficiary: string;
    txHash?: string | null;
  }[];
}

/** A statement takes at most 65,535 parameters. */
const ROWS_PER_INSERT = 4_000;

/** Seeds an empty feed. */
export async function seedRecords({ db }: DatabaseHandle, seed: Seed): Promise<SeededProject[]> {
  const made = seed.projects.map((facts) => {
    const id = randomUUID();
    return { ...facts, id, tokenAddress: encodeStrkey('contract', randomBytes(32)) };
  });
  await db.insert(projects).values(
    made.map((project) => ({
      ...project,
      state: 'OPEN' as const,
      assetId: project.id,
      assetKey: project.id,
      creditType: 'VCU',
      verificationBodyRef: project.id,
      quantityTonnes: 1_000_000n,
      projectLocation: 'Kasigau',
      projectType: 'REDD+',
      tokenName: 'Token',
      tokenSymbol: 'CARB',
      deploySalt: project.id,
      developerId: 'dev',
      createdAt: new Date(0),
      openedAt: new Date(0),
    })),
  );
  const next = new Map<string, number>();
  const rows = seed.records.map(({ project, timestamp, tonnes, beneficiary, txHash = null }, number) => {
    const { id: projectId = '', tokenAddress = '' } = made[project] ?? {};
    const index = next.get(projectId) ?? 0;
    next.set(projectId, index + 1);
    return {
      position: BigInt(number) + 1n,
      projectId,
      tokenAddress,
      index,
      retiredBy: 'custody',
      amountBaseUnits: toBaseUnits(BigInt(tonnes)),
      timestamp: BigInt(timestamp),
      beneficiary,
      txHash,
      note: String(number),
      appendedAt: new Date(timestamp * 1000),
    };
  });
  for (let i = 0; i < rows.length; i += ROWS_PER_INSERT) {
    await db.insert(retirementRecords).values(rows.slice(i, i + ROWS_PER_INSERT));
  }
  await db.update(feedHead).set({ position: BigInt(rows.length) });
  return made.map(({ id, tokenAddress }) => ({
    id,
    tokenAddress,
    globalId: Buffer.from(`Project:${id}`).toString('base64url'),
  }));
}
