/**
 * The manual ramp provider: a person pays out and says so. Sessions are kept in the platform's database;
 * their status changes when an operator sets it, and the platform then learns of it as from any provider: by a
 * callback over HTTP that it must not believe.
 */
import { and, eq, inArray } from 'drizzle-orm';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { Db } from '../../db/connection.ts';
import { manualRampSessions } from '../../db/schema/index.ts';
import { DomainError, messageOf } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { MAX_SESSION_ID_CHARACTERS, type RampProvider, type RampSession, type RampStatus } from '../port.ts';
import { quoteManually, type ManualPrices } from './quotes.ts';

export interface ManualProviderOptions extends ManualPrices {
  db: Db;
  clock: Clock;
  random: (size: number) => Uint8Array;
  /** The public address of POST /api/webhooks/payout-settled. */
  callbackUrl: string;
  fetch: typeof fetch;
  log: Pick<Logger, 'warn'>;
}

export interface ManualControls {
  /**
   * What the person who pays says of a session. Tells the platform by a callback, which may fail: the platform
   * polls as well.
   * @throws DomainError NOT_FOUND
   */
  setStatus(sessionId: string, status: RampStatus): Promise<RampSession>;
}

export type ManualProvider = RampProvider & ManualControls;

/** Enough that nobody guesses the id of another's session. */
const SESSION_ID_BYTES = 24;
/** The platform answers callbacks within ten seconds. */
const CALLBACK_TIMEOUT_MS = 12_000;

const callbackBody = z.object({ sessionId: z.string().min(1).max(MAX_SESSION_ID_CHARACTERS) });

export function createManualProvider(options: ManualProviderOptions): ManualProvider {
  const { db, clock } = options;

  async function statusOf(sessionId: string): Promise<RampStatus> {
    const [session] = await db.select().from(manualRampSessions).where(eq(manualRampSessions.id, sessionId));
    if (!session) throw new DomainError('RAMP_REJECTED', noSession(sessionId));
    return session.status;
  }

  async function findSessionByReference(reference: string): Promise<RampSession | null> {
    const [session] = await db
      .select()
      .from(manualRampSessions)
      .where(eq(manualRampSessions.reference, reference));
    return session ? { sessionId: session.id, status: session.status } : null;
  }

  return {
    name: 'manual',
    quote: async (request) => quoteManually(options, request, clock.now()),
    findSessionByReference,
    getStatus: statusOf,
    readCallback: ({ rawBody }) => readSessionId(rawBody),

    async openSession({ reference, quote }) {
      const now = clock.now();
      const id = `manual_${Buffer.from(options.random(SESSION_ID_BYTES)).toString('base64url')}`;
      const { fiatCurrency, fiatAmount } = quote;
      await db
        .insert(manualRampSessions)
        .values({
          id,
          reference,
          status: 'pending',
          fiatCurrency,
          fiatAmount,
          createdAt: now,
          changedAt: now,
        })
        .onConflictDoNothing({ target: manualRampSessions.reference });
      const session = await findSessionByReference(reference);
      if (!session) throw new Error(`manual session ${reference} neither inserted nor found`);
      return session;
    },

    async closeSession(sessionId) {
      // Nothing was paid yet, and nothing will be; what was paid meanwhile stays as it is.
      await db
        .update(manualRampSessions)
        .set({ status: 'failed', changedAt: clock.now() })
        .where(
          and(
            eq(manualRampSessions.id, sessionId),
            inArray(manualRampSessions.status, ['pending', 'processing']),
          ),
        );
      return statusOf(sessionId);
    },

    async setStatus(sessionId, status) {
      const changed = await db
        .update(manualRampSessions)
        .set({ status, changedAt: clock.now() })
        .where(eq(manualRampSessions.id, sessionId))
        .returning({ id: manualRampSessions.id });
      if (changed.length === 0) throw new DomainError('NOT_FOUND', noSession(sessionId));
      await callBack(options, sessionId);
      return { sessionId, status };
    },
  };
}

function noSession(sessionId: string): string {
  return `The manual provider has no session "${sessionId}".`;
}

async function callBack(options: ManualProviderOptions, sessionId: string): Promise<void> {
  try {
    const response = await options.fetch(options.callbackUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sessionId }),
      redirect: 'error',
      signal: AbortSignal.timeout(CALLBACK_TIMEOUT_MS),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`answered with status ${response.status}`);
  } catch (error) {
    options.log.warn({ sessionId, error: messageOf(error) }, 'callback of the manual provider failed');
  }
}

/** Whoever knows a session's id may hint at it: a hint is checked with the provider, and costs one look. */
function readSessionId(rawBody: Uint8Array): string | null {
  try {
    const parsed = callbackBody.safeParse(JSON.parse(Buffer.from(rawBody).toString('utf8')));
    return parsed.success ? parsed.data.sessionId : null;
  } catch {
    return null;
  }
}
