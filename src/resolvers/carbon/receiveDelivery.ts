/**
 * receiveDelivery: handles an indexer's delivery. The signature is verified first. The content is then only a
 * hint about which token to read, because the token's own list of records is authoritative.
 */
import { and, desc, gt, inArray, isNull, or, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import { hotSelect } from '../../db/hotQueries.ts';
import { isOneOf } from '../../db/manyRows.ts';
import { attempts, indexerEvents, indexerRegistrations } from '../../db/tables/index.ts';
import { readRetirementHints, type RetirementHint } from '../../indexer/retirementEvent.ts';
import { groupBy } from '../../lib/groupBy.ts';
import type { Sealer } from '../../lib/sealer.ts';
import { isSignature, verifySignature } from '../../lib/signature.ts';
import { sealedPlace } from '../../db/sealedColumns.ts';
import type { Needs } from '../core/dependencies.ts';
import { findProjectByToken } from './findProject.ts';

export type ReceiveDeliveryNeeds = Needs<'db' | 'network' | 'sealer' | 'feedFiller'>;

interface Delivery {
  rawBody: Uint8Array;
  signature: string | null;
}

/** The outcome for the log; the sender never sees it. */
type DeliveryOutcome = 'accepted' | 'not-a-retirement' | 'unverified';

/** Deliveries signed with a replaced secret may still arrive for this long. */
const REPLACED_SECRET_GRACE_SECONDS = 5 * 60;
/** Maximum secrets to check: no operator registers more often than this in five minutes. */
const MAX_LIVE_SECRETS = 10;

export async function receiveDelivery(
  deps: ReceiveDeliveryNeeds,
  delivery: Delivery,
): Promise<DeliveryOutcome> {
  const { rawBody, signature: header } = delivery;
  // A malformed signature costs no statement.
  if (!isSignature(header)) return 'unverified';
  if (!verifySignature({ rawBody, header, secrets: await liveSecrets(deps) })) return 'unverified';
  const hints = readRetirementHints(rawBody);
  if (hints.length === 0) return 'not-a-retirement';
  await follow(deps, hints);
  return 'accepted';
}

async function liveSecrets(deps: Needs<'db' | 'sealer'>): Promise<string[]> {
  const rows = await deps.db
    .select({ id: indexerRegistrations.id, sealedSecret: indexerRegistrations.sealedSecret })
    .from(indexerRegistrations)
    .where(
      or(
        isNull(indexerRegistrations.replacedAt),
        // By the database's clock, which also dates registrations.
        gt(
          indexerRegistrations.replacedAt,
          sql`now() - make_interval(secs => ${REPLACED_SECRET_GRACE_SECONDS})`,
        ),
      ),
    )
    .orderBy(desc(indexerRegistrations.createdAt))
    .limit(MAX_LIVE_SECRETS);
  return rows.flatMap((row) => openSecret(deps.sealer, row) ?? []);
}

/**
 * Returns null if the secret can't be unsealed: after a restored backup its key may be lost. Other deliveries
 * still work, and registrationKeeper.ts reports it and registers again.
 */
export function openSecret(
  sealer: Sealer,
  { id, sealedSecret }: Pick<typeof indexerRegistrations.$inferSelect, 'id' | 'sealedSecret'>,
): string | null {
  try {
    return sealer.unseal(sealedSecret, sealedPlace('registrationSecret', id));
  } catch {
    return null;
  }
}

async function follow(
  deps: Needs<'db' | 'network' | 'feedFiller'>,
  hints: readonly RetirementHint[],
): Promise<void> {
  // A delivery that names no token: every token is compared.
  if (hints.some(({ tokenAddress }) => tokenAddress === null)) void deps.feedFiller.round();
  const byToken = groupBy(await withoutOwn(deps, hints), ({ tokenAddress }) => tokenAddress);
  for (const [address, ofToken] of byToken) {
    const project = address === null ? null : await findProjectByToken(deps, address);
    if (!project) continue;
    const { id: projectId, tokenAddress } = project;
    const rows = ofToken.flatMap(({ eventId, recordIndex, txHash }) => {
      if (recordIndex === null || txHash === null) return [];
      const id = eventId ?? `${tokenAddress}/${recordIndex}`;
      return [{ id, tokenAddress, recordIndex, txHash, receivedAt: sql`now()` }];
    });
    if (rows.length > 0) await deps.db.insert(indexerEvents).values(rows).onConflictDoNothing();
    deps.feedFiller.requestFill({ projectId, tokenAddress });
  }
}

const selectOwn = hotSelect(
  new QueryBuilder()
    .select({ hash: attempts.hash })
    .from(attempts)
    .where(
      and(isOneOf(attempts.hash, sql.placeholder('hashes')), inArray(attempts.state, ['OPEN', 'LANDED'])),
    ),
);

/**
 * Leaves out hints about the platform's own transactions that have landed, or may. Their settlement adds the
 * record with its hash, and the feed filler finds the rest.
 */
async function withoutOwn(
  { db }: Needs<'db'>,
  hints: readonly RetirementHint[],
): Promise<readonly RetirementHint[]> {
  const reported = hints.flatMap(({ txHash }) => txHash ?? []);
  if (reported.length === 0) return hints;
  const rows = await selectOwn(db, { hashes: JSON.stringify(reported) });
  const own = new Set(rows.map(({ hash }) => hash));
  return hints.filter(({ txHash }) => txHash === null || !own.has(txHash));
}
