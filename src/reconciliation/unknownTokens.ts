/**
 * Tokens that custody has deployed and this database does not know: a copy restored from before createProject
 * has neither the project nor its token, so no other comparison includes them.
 */
import { and, desc, eq, exists, inArray, isNotNull, isNull, max, ne, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Db } from '../db/connection.ts';
import {
  attempts,
  BESIDE_SLOT,
  projects,
  receipts,
  signingAccounts,
  submissions,
} from '../db/tables/index.ts';
import type { Address, LedgerNetwork } from '../ledger/network/port.ts';

/**
 * Maximum deploys under way or under review that are asked about; the tokens of further ones count as
 * unknown.
 */
const MAX_OPEN_DEPLOYS = 100;

/**
 * Reads the tokens deployed since custody's last signature with this database, because another copy's are
 * later. All tokens, if nothing was signed: the database may be a backup of the first day.
 * @returns a sentence for each.
 * @throws NetworkUnavailable
 */
export async function findUnknownTokens({
  db,
  network,
}: {
  db: Db;
  network: Pick<LedgerNetwork, 'tokensDeployedSince' | 'findToken'>;
}): Promise<string[]> {
  const deployed = await network.tokensDeployedSince(await readSignedAt(db));
  const written = new Set(await readTokens(db, deployed));
  const unwritten = deployed.filter((address) => !written.has(address));
  if (unwritten.length === 0) return [];
  const underWay = new Set(await findOpenDeploys(db, network));
  return unwritten
    .filter((address) => !underWay.has(address))
    .map(
      (address) =>
        `custody has deployed the token ${address}, which no project and no receipt of this database has`,
    );
}

/**
 * The newest ledger of custody's attempts, by the last slot of each account. Attempts of holders, and those
 * signed again for a fee, continue after a copy was restored: tokens deployed before them would not be found.
 */
async function readSignedAt(db: Db): Promise<bigint | null> {
  const last = db
    .select({ ledger: attempts.preparedAtLedger })
    .from(attempts)
    .where(
      and(
        eq(attempts.source, signingAccounts.address),
        // The columns and the condition of the index `attempts_slot`, which ends with the last attempt.
        sql`${BESIDE_SLOT} = ''`,
        isNotNull(attempts.sequence),
      ),
    )
    .orderBy(desc(attempts.sequence))
    .limit(1)
    .as('last');
  const [signed] = await db
    .select({ at: max(last.ledger) })
    .from(signingAccounts)
    .crossJoinLateral(last);
  return signed?.at ?? null;
}

async function readTokens(db: Db, among: readonly Address[]): Promise<(Address | null)[]> {
  const ofTable = (table: typeof projects | typeof receipts) =>
    db
      .select({ address: table.tokenAddress })
      .from(table)
      .where(inArray(table.tokenAddress, [...among]));
  return (await Promise.all([ofTable(projects), ofTable(receipts)])).flat().map(({ address }) => address);
}

/**
 * The tokens of open deploys, which may be deployed and not be stored yet. Only deploys with a live attempt
 * in this database count. A deploy that is asked for again on a copy, or whose attempts were dead when the
 * copy was made, has the token of a lost history, whose retirements nothing compares before the token is
 * adopted.
 */
async function findOpenDeploys(
  db: Db,
  network: Pick<LedgerNetwork, 'findToken'>,
): Promise<(Address | null)[]> {
  const ofTable = (table: typeof projects | typeof receipts) =>
    db
      .select({ salt: table.deploySalt, assetId: table.assetId })
      .from(table)
      .where(and(isNull(table.tokenAddress), ne(table.state, 'REFUSED'), exists(signedFor(db, table.id))))
      .limit(MAX_OPEN_DEPLOYS);
  const open = (await Promise.all([ofTable(projects), ofTable(receipts)])).flat();
  return Promise.all(open.map((deploy) => network.findToken(deploy)));
}

function signedFor(db: Db, targetId: PgColumn) {
  return db
    .select({ hash: attempts.hash })
    .from(submissions)
    .innerJoin(attempts, eq(attempts.submissionId, submissions.id))
    .where(and(eq(submissions.targetId, targetId), ne(attempts.state, 'DEAD')));
}
