/**
 * Checks whether the database belongs to the configured network, and what it says about its signing accounts.
 */
import { sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { hasTable } from './hasTable.ts';
import { settlementDeployments } from '../db/tables/index.ts';
import { runCheck, pass, warn, fail, type Check } from '../ledger/network/check.ts';
import { checkInstallation } from '../ledger/network/claimInstallation.ts';
import type { LedgerNetwork } from '../ledger/network/port.ts';
import { readHalts } from '../ledger/submission/halts.ts';

export async function* checkDatabase(db: Db, network: LedgerNetwork): AsyncGenerator<Check> {
  const belongs = await runCheck('belongs to', () => checkOwner(db, network));
  yield belongs;
  if (belongs.result === 'fail') return;
  // A new or older database lacks the table; the server brings it up to date at its start.
  if (await hasTable(db, 'signing_accounts')) yield* checkSigningAccounts(db);
  if (network.signingOrder?.landsUnseenForSeconds !== undefined && (await hasTable(db, 'final_ledger')))
    yield* checkTimeline(db);
  if (await hasTable(db, 'settlement_deployments')) yield* checkDeployedSettlement(db, network);
}

async function checkOwner(db: Db, network: LedgerNetwork): Promise<Check> {
  const isClaimed = (await hasTable(db, 'installation')) && (await checkInstallation(db, network));
  return pass(
    'belongs to',
    isClaimed
      ? 'this network and custody signer'
      : 'no network yet: the server’s first start makes it this network’s',
  );
}

async function* checkSigningAccounts(db: Db): AsyncGenerator<Check> {
  for (const { address, because } of await readHalts(db)) {
    yield fail(
      'signing',
      `stopped for ${address}: ${because}`,
      'It goes on by itself when nothing is under way and npm run reconcile finds nothing; else an operator calls resumeSigning.',
    );
  }
}

/** If transactions waiting at the node don't show, only the timeline tells of a promoted standby. */
async function* checkTimeline(db: Db): AsyncGenerator<Check> {
  const [found] = await db.execute<{ isTold: boolean }>(
    sql`SELECT database_history() IS NOT NULL AS "isTold"`,
  );
  if (found?.isTold) return;
  yield warn(
    'timeline',
    'PostgreSQL does not tell this role which timeline it is on, so a promotion is not noticed',
    'GRANT EXECUTE ON FUNCTION pg_control_system() to it, or wait 90 s after each promotion (docs/operations.md).',
  );
}

/** A settlement contract that was deployed from here, and is not configured yet. */
async function* checkDeployedSettlement(db: Db, network: LedgerNetwork): AsyncGenerator<Check> {
  const configured = await network.settlementContract().catch(() => null);
  const deployments = await db.select().from(settlementDeployments);
  const waiting = deployments.find(({ settlementAddress }) => settlementAddress !== null);
  if (configured !== null || !waiting) return;
  yield warn(
    'settlement',
    `${waiting.settlementAddress} was deployed from here, and is not configured`,
    `Set RAMP_SETTLEMENT_ADDRESS=${waiting.settlementAddress}.`,
  );
}
