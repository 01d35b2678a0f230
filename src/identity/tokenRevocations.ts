/**
 * Keeps the revoked bearer tokens in memory: each request asks for them, and none waits for the database.
 */
import { gt, sql } from 'drizzle-orm';
import type { ChangeSignal } from '../db/changeSignal.ts';
import type { Db } from '../db/connection.ts';
import { tokenRevocations } from '../db/tables/index.ts';
import { createCurrentReads, type CurrentReads } from './currentReads.ts';
import { DomainError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Caller } from './roles.ts';
import type { TokenVerifier } from './tokens.ts';

export type TokenRevocationRow = typeof tokenRevocations.$inferSelect;

/** `read` also calls the listeners, and waits for them. */
export interface TokenRevocations extends CurrentReads {
  isRevoked(caller: Caller): boolean;
  /** The listener is a part of each reading. @returns the function that removes it */
  onRead(listener: () => Promise<void>): () => void;
  /** Maximum lifetime of a token, from its issue. */
  maxTokenSeconds: number;
  stop(): void;
}

/** The key that instances send each other by the credential signal. */
export const TOKENS_REVOKED = 'tokens';
/**
 * Maximum revocations: each instance holds all in memory, and reads them at each poll. A subject counts once
 * for all its tokens.
 */
export const MAX_REVOCATIONS = 5_000;
/** Notifications may be lost; the table is read this often. */
const POLL_INTERVAL_MS = 5_000;

interface Revoked {
  jtis: ReadonlySet<string>;
  /** By subject, the time in Unix seconds before which its revoked tokens were issued. */
  issuedUntil: ReadonlyMap<string, number>;
}

interface RevocationDependencies {
  db: Db;
  credentialSignal: Pick<ChangeSignal, 'onNotify'>;
  log: Pick<Logger, 'warn'>;
  maxTokenSeconds: number;
}

/** Rejects when the revocations can't be read: no request is served without them. */
export async function openTokenRevocations(deps: RevocationDependencies): Promise<TokenRevocations> {
  const { db, credentialSignal, log, maxTokenSeconds } = deps;
  const listeners = new Set<() => Promise<void>>();
  let revoked: Revoked = { jtis: new Set(), issuedUntil: new Map() };
  const { read, awaitCurrent } = createCurrentReads(POLL_INTERVAL_MS, async () => {
    revoked = await readRevoked(db);
    await Promise.all([...listeners].map((listener) => listener()));
  });
  const readSafely = () => {
    read().catch((err: unknown) => log.warn({ err }, 'revoked credentials could not be read'));
  };
  const stopListening = credentialSignal.onNotify((key) => {
    if (key === null || key === TOKENS_REVOKED) readSafely();
  });
  const timer = setInterval(readSafely, POLL_INTERVAL_MS).unref();
  const stop = () => {
    clearInterval(timer);
    stopListening();
  };
  await read().catch((error: unknown) => {
    stop();
    throw error;
  });
  return {
    isRevoked: (caller) => isAmong(revoked, caller),
    awaitCurrent,
    read,
    onRead(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    maxTokenSeconds,
    stop,
  };
}

/**
 * Refuses revoked tokens that are otherwise valid. Remembered tokens are checked as well, because they may be
 * revoked meanwhile.
 */
export function refuseRevoked(
  verify: TokenVerifier,
  { isRevoked, awaitCurrent }: Pick<TokenRevocations, 'isRevoked' | 'awaitCurrent'>,
): TokenVerifier {
  return async (token) => {
    const caller = await verify(token);
    const reading = awaitCurrent();
    if (reading !== null) await reading;
    if (isRevoked(caller)) throw new DomainError('UNAUTHENTICATED', 'The token was revoked; get a new one.');
    return caller;
  };
}

/** A token that does not say when it was issued may be an old one. */
function isAmong({ jtis, issuedUntil }: Revoked, { apiKeyId, jti, subject, issuedAt }: Caller): boolean {
  if (apiKeyId !== null) return false;
  if (jti !== null && jtis.has(jti)) return true;
  const before = issuedUntil.get(subject);
  return before !== undefined && (issuedAt ?? -Infinity) < before;
}

async function readRevoked(db: Db): Promise<Revoked> {
  const rows = await db
    .select()
    .from(tokenRevocations)
    .where(gt(tokenRevocations.endsAt, sql`now()`));
  return {
    jtis: new Set(rows.flatMap(({ jti }) => jti ?? [])),
    issuedUntil: new Map(
      rows.flatMap(({ subject, issuedUntil }) =>
        subject === null || issuedUntil === null ? [] : [[subject, issuedUntil.getTime() / 1000] as const],
      ),
    ),
  };
}
