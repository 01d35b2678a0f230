/**
 * receiveDelivery: what an indexer's delivery does. The signature is checked before anything else is
 * believed; what it then says is a hint where to look, because the token itself is the truth.
 */
import { and, asc, count, desc, eq, gt, or } from 'drizzle-orm';
import { earlyDeliveries, indexerEvents, indexerRegistrations } from '../db/schema/index.ts';
import { completeHash } from '../feed/fillToken.ts';
import { readRetirementHint, type RetirementHint } from '../indexer/retirementEvent.ts';
import { verifySignature } from '../indexer/signature.ts';
import type { Dependencies } from './dependencies.ts';
import { findProjectByToken } from './findProject.ts';

export interface Delivery {
  rawBody: Uint8Array;
  signature: string | null;
}

/** What became of a delivery; for the log, never for the sender. */
export type DeliveryOutcome = 'accepted' | 'not-a-retirement' | 'kept-until-registered' | 'unverified';

/** Deliveries signed with a secret that was just replaced may still be under way. */
const REPLACED_SECRET_GRACE_MS = 5 * 60_000;
/** The newest secrets that can still be live: more registrations than this in five minutes make no sense. */
const MAX_LIVE_SECRETS = 10;
/** A registration that takes longer than this has failed; nothing is kept for it any more. */
const REGISTRATION_LIMIT_MS = 2 * 60_000;
/** Kept early deliveries: strangers can send them too, so there are few; the healer covers the rest. */
const MAX_EARLY_DELIVERIES = 100;

export async function receiveDelivery(deps: Dependencies, delivery: Delivery): Promise<DeliveryOutcome> {
  const secrets = await liveSecrets(deps);
  if (!isVerified(delivery, secrets)) return keepIfEarly(deps, delivery);
  const hint = readRetirementHint(delivery.rawBody);
  if (!hint) return 'not-a-retirement';
  await follow(deps, hint);
  return 'accepted';
}

/** After a registration: deliveries that were sent before their secret was stored get their turn. */
export async function retryEarlyDeliveries(deps: Dependencies): Promise<void> {
  const kept = await deps.db
    .select()
    .from(earlyDeliveries)
    .orderBy(asc(earlyDeliveries.receivedAt))
    .limit(MAX_EARLY_DELIVERIES);
  const secrets = await liveSecrets(deps);
  for (const { id, body, signature } of kept) {
    const hint = isVerified({ rawBody: body, signature }, secrets) ? readRetirementHint(body) : null;
    if (hint) await follow(deps, hint);
    await deps.db.delete(earlyDeliveries).where(eq(earlyDeliveries.id, id));
  }
}

function isVerified({ rawBody, signature }: Delivery, secrets: readonly string[]): boolean {
  return signature !== null && verifySignature({ rawBody, header: signature, secrets });
}

async function liveSecrets(deps: Dependencies): Promise<string[]> {
  const graceStart = new Date(deps.clock.now().getTime() - REPLACED_SECRET_GRACE_MS);
  const rows = await deps.db
    .select({ sealedSecret: indexerRegistrations.sealedSecret })
    .from(indexerRegistrations)
    .where(or(eq(indexerRegistrations.state, 'LIVE'), gt(indexerRegistrations.replacedAt, graceStart)))
    .orderBy(desc(indexerRegistrations.createdAt))
    .limit(MAX_LIVE_SECRETS);
  return rows.flatMap(({ sealedSecret }) =>
    sealedSecret === null ? [] : [deps.sealer.unseal(sealedSecret)],
  );
}

/** An unverifiable delivery may be of a registration whose secret isn't stored yet; otherwise it is dropped. */
async function keepIfEarly(deps: Dependencies, delivery: Delivery): Promise<DeliveryOutcome> {
  if (delivery.signature === null) return 'unverified';
  const limit = new Date(deps.clock.now().getTime() - REGISTRATION_LIMIT_MS);
  const [registering] = await deps.db
    .select({ id: indexerRegistrations.id })
    .from(indexerRegistrations)
    .where(and(eq(indexerRegistrations.state, 'REGISTERING'), gt(indexerRegistrations.createdAt, limit)))
    .limit(1);
  if (!registering) return 'unverified';
  const [kept] = await deps.db.select({ count: count() }).from(earlyDeliveries);
  if ((kept?.count ?? 0) >= MAX_EARLY_DELIVERIES) return 'unverified';
  await deps.db.insert(earlyDeliveries).values({
    id: deps.ids.next(),
    body: delivery.rawBody,
    signature: delivery.signature,
    receivedAt: deps.clock.now(),
  });
  return 'kept-until-registered';
}

async function follow(deps: Dependencies, hint: RetirementHint): Promise<void> {
  if (hint.tokenAddress === null) {
    // It doesn't say where: compare every token.
    deps.healer.requestRound();
    return;
  }
  const project = await findProjectByToken(deps, hint.tokenAddress);
  if (!project) return;
  const { id: projectId, tokenAddress } = project;
  const { eventId, recordIndex, txHash, ledger } = hint;
  if (recordIndex !== null && txHash !== null) {
    const id = eventId ?? `${tokenAddress}/${recordIndex}`;
    const receivedAt = deps.clock.now();
    await deps.db
      .insert(indexerEvents)
      .values({ id, tokenAddress, recordIndex, txHash, ledger, receivedAt })
      .onConflictDoNothing();
    await completeHash(deps.db, tokenAddress, recordIndex, txHash);
  }
  deps.healer.nudge({ projectId, tokenAddress });
}
