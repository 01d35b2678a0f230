/**
 * One instance of the platform as a process that kills itself at a named point. Run by the crash tests:
 *
 *   tsx instance.ts '{ "databaseUrl", "secretKey", "killAt", "occurrence", "request" }'
 */
import { randomBytes } from 'node:crypto';
import { systemClock } from '../../src/clock.ts';
import { composePlatform } from '../../src/compose.ts';
import { openDatabase } from '../../src/db/connection.ts';
import { createEmbeddedNetwork } from '../../src/ledger/network/embedded/embeddedNetwork.ts';
import type { Checkpoint } from '../../src/ledger/submission/submission.ts';
import { createLogger } from '../../src/logger.ts';
import { createProject } from '../../src/resolvers/createProject.ts';
import { retire } from '../../src/resolvers/retire.ts';
import { warehouseOptions } from '../harness/warehouse.ts';

export interface InstanceOrder {
  databaseUrl: string;
  secretKey: string;
  /** `request-committed` dies before any worker has seen the request. */
  killAt: Checkpoint | 'request-committed';
  /** At which passing of the point to die, from 1. */
  occurrence: number;
  request:
    | {
        kind: 'createProject';
        input: Omit<Parameters<typeof createProject>[2], 'quantityCO2e'> & { quantityCO2e: string };
      }
    | { kind: 'retire'; input: Omit<Parameters<typeof retire>[2], 'amountCO2e'> & { amountCO2e: string } };
}

const order = JSON.parse(process.argv[2] ?? '') as InstanceOrder;
const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('still alive');
};

const handle = openDatabase({ url: order.databaseUrl, poolSize: 5, applicationName: 'crashing instance' });
const network = await createEmbeddedNetwork({
  handle,
  secretKey: order.secretKey,
  clock: systemClock,
  randomBytes,
});
let passed = 0;
const platform = await composePlatform({
  handle,
  network,
  indexerUrl: 'http://127.0.0.1:9',
  publicUrl: 'http://127.0.0.1:9',
  appSecret: 'an application secret for tests alone',
  mutationWaitMs: order.killAt === 'request-committed' ? 0 : 30_000,
  healIntervalMs: 600_000,
  ...warehouseOptions,
  log: createLogger({ level: 'silent', pretty: false }),
  checkpoint: async (point) => {
    if (point === order.killAt && ++passed === order.occurrence) die();
  },
});
if (order.killAt !== 'request-committed') await platform.start();

const { request } = order;
if (request.kind === 'retire') {
  const input = { ...request.input, amountCO2e: BigInt(request.input.amountCO2e) };
  await retire(platform.dependencies, request.input.buyerId, input);
} else {
  const input = { ...request.input, quantityCO2e: BigInt(request.input.quantityCO2e) };
  await createProject(platform.dependencies, 'developer', input);
}
if (order.killAt === 'request-committed') die();
// The point was never passed: the test has to know.
process.exit(3);
