/**
 * The options with which tests and benchmarks compose a platform, and their first project.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { ComposeOptions, Platform } from '../src/startup/compose.ts';
import { generateSecretKey } from '../src/lib/strkey.ts';
import { createLogger } from '../src/lib/logger.ts';
import { createProject } from '../src/resolvers/carbon/createProject.ts';
import type { TokenizedProject } from '../src/resolvers/carbon/findProject.ts';

export const silentLog = createLogger({ level: process.env.TEST_LOG_LEVEL ?? 'silent', pretty: false });

/** One custody key for all instances of a test, which share a network. */
export const custodySecretKey = generateSecretKey(randomBytes);

/** 1 kg is 50 KES or 1428 UGX (which has no cents) before a fee of 1.5 %. */
export const warehouseOptions = {
  ramp: {
    kind: 'manual',
    exchangeRates: { KES: '0.02', UGX: '0.0007' },
    feeBps: 150,
    quoteSeconds: 900,
  },
  receiptCountryCode: 'KE',
  nightlyTimeZone: 'UTC',
} as const satisfies Partial<ComposeOptions>;

/** An open project with `quantityTonnes` in its inventory. */
export async function openProject(
  platform: Pick<Platform, 'dependencies'>,
  quantityTonnes: bigint,
): Promise<TokenizedProject> {
  const project = await createProject(
    platform.dependencies,
    'developer',
    projectInput({ quantityCO2e: quantityTonnes }),
  );
  if (project.state !== 'OPEN' || project.tokenAddress === null) {
    throw new Error(`the project is ${project.state}: ${project.stateReason}`);
  }
  return { ...project, tokenAddress: project.tokenAddress };
}

export function projectInput(overrides: Partial<Parameters<typeof createProject>[2]> = {}) {
  return {
    creditType: 'VCU',
    verificationBodyRef: `VCS-${randomUUID()}`,
    vintageYear: 2024,
    quantityCO2e: 1000n,
    projectLocation: 'Kasigau Corridor',
    projectType: 'REDD+',
    countryCode: 'KE',
    idempotencyKey: randomUUID(),
    ...overrides,
  };
}
