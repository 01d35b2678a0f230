/**
 * One instance of the platform as a process that kills itself at a named point. instances.ts runs it, with
 * its order (order.ts) as the only argument.
 */
import { composePlatform } from '../../src/startup/compose.ts';
import { openDatabase } from '../../src/db/connection.ts';
import { createLogger } from '../../src/lib/logger.ts';
import type { Tx } from '../../src/db/connection.ts';
import { grantApproval } from '../../src/resolvers/approvals/decideApproval.ts';
import { runApproved } from '../../src/schema/approvals/runApproved.ts';
import { cancelCashOut } from '../../src/resolvers/warehouse/offRamp/cancelCashOut.ts';
import { cashOut } from '../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { createProject } from '../../src/resolvers/carbon/createProject.ts';
import { retire } from '../../src/resolvers/carbon/retire.ts';
import { connectLedger } from '../../devnet/ledgers.ts';
import { farmer, providerSays, reaches } from '../support/warehouse.ts';
import { warehouseOptions } from '../../devnet/platform.ts';
import { decodeOrder, secondPerson, type CrashPoint } from './order.ts';

const order = decodeOrder(process.argv[2] ?? '');
const { killAt, request } = order;

let passed = 0;
function pass(point: CrashPoint): void {
  if (point === killAt && ++passed === order.occurrence) process.kill(process.pid, 'SIGKILL');
}

const handle = openDatabase({ url: order.databaseUrl, poolSize: 2, applicationName: 'crashing instance' });
const network = await connectLedger(order.ledger, handle);
const platform = await composePlatform({
  handle,
  network,
  indexerUrl: 'http://127.0.0.1:9',
  publicUrl: 'http://127.0.0.1:9',
  appSecret: 'an application secret for tests alone',
  mutationWaitMs: killAt === 'request-committed' ? 0 : 30_000,
  feedCompareIntervalMs: 600_000,
  ...warehouseOptions,
  log: createLogger({ level: 'silent', pretty: false }),
  crashPoint: async (point) => pass(point),
});
const { dependencies } = platform;
const { ramp } = dependencies;
dependencies.ramp = {
  ...ramp,
  async openSession(asked) {
    const session = await ramp.openSession(asked);
    pass('ramp-session-opened');
    return session;
  },
  async closeSession(sessionId) {
    const status = await ramp.closeSession(sessionId);
    pass('ramp-session-closed');
    return status;
  },
};
if (request.kind === 'retireMany') {
  const impatient = { ...dependencies, mutationWaitMs: 0 };
  await Promise.all(request.inputs.map((input) => retire(impatient, input.buyerId, input)));
}
if (killAt !== 'request-committed') await platform.start();

switch (request.kind) {
  case 'retire':
    await retire(dependencies, request.input.buyerId, request.input);
    break;
  case 'retireMany':
    await Promise.all(request.inputs.map((input) => retire(dependencies, input.buyerId, input)));
    break;
  case 'createProject':
    await createProject(dependencies, 'developer', request.input);
    break;
  case 'grantApproval':
    await grantApproval(dependencies, secondPerson, request.id, (asked, grant) => {
      const confirm = async (tx: Tx) => {
        await grant.confirm(tx);
        pass('approval-uncommitted');
      };
      return runApproved(dependencies, asked, { ...grant, confirm });
    });
    break;
  case 'cashOut':
    await cashOut(dependencies, farmer, request.input);
    break;
  case 'payoutEnds':
    await providerSays(platform, request.providerSessionId, request.status);
    await reaches(platform, request.offRampSessionId, 'SETTLED', 'REFUNDED');
    break;
  case 'cancelCashOut': {
    const { offRampSessionId: id, idempotencyKey } = request;
    await cancelCashOut(dependencies, farmer, { offRampSessionId: id, idempotencyKey });
    if (killAt !== 'request-committed') await reaches(platform, id, 'REFUNDED', 'CLOSED');
    break;
  }
}
pass('request-committed');
// Tells the test that the point was never passed.
process.exit(3);
