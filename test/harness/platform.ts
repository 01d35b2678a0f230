/**
 * The platform without its HTTP server: use cases and workers on a test database and the embedded network.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { systemClock } from '../../src/clock.ts';
import { composePlatform, type ComposeOptions, type Platform } from '../../src/compose.ts';
import type { DatabaseHandle } from '../../src/db/connection.ts';
import {
  createEmbeddedNetwork,
  type EmbeddedNetwork,
} from '../../src/ledger/network/embedded/embeddedNetwork.ts';
import { generateSecretKey } from '../../src/ledger/network/embedded/strkey.ts';
import { createLogger } from '../../src/logger.ts';
import { createProject } from '../../src/resolvers/createProject.ts';
import type { TokenizedProject } from '../../src/resolvers/findProject.ts';
import { warehouseOptions } from './warehouse.ts';

export const silentLog = createLogger({ level: process.env.TEST_LOG_LEVEL ?? 'silent', pretty: false });

/** One custody key for all: instances of a test share their database's network. */
export const custodySecretKey = generateSecretKey(randomBytes);

export function embeddedNetworkOn(
  handle: DatabaseHandle,
  options: { validitySeconds?: number } = {},
): Promise<EmbeddedNetwork> {
  return createEmbeddedNetwork({
    handle,
    secretKey: custodySecretKey,
    clock: systemClock,
    randomBytes,
    ...options,
  });
}

export function platformOn(
  handle: DatabaseHandle,
  network: ComposeOptions['network'],
  overrides: Partial<ComposeOptions> = {},
): Promise<Platform> {
  return composePlatform({
    handle,
    network,
    // Nothing listens there: tests of the indexer bring their own.
    indexerUrl: 'http://127.0.0.1:9',
    publicUrl: 'http://127.0.0.1:9',
    appSecret: 'an application secret for tests alone',
    mutationWaitMs: 20_000,
    // Longer than any test: feeds are filled by what is tested, not by luck.
    healIntervalMs: 600_000,
    ...warehouseOptions,
    log: silentLog,
    ...overrides,
  });
}

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
    throw new Error(`the project is ${project.state}: ${project.refusalMessage}`);
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
