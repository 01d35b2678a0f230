/**
 * The manual ramp provider: a person pays out, and an operator records it. Sessions are stored in the
 * platform's database. A status that an operator records makes the platform's session due in the same
 * transaction, so this provider sends no callback.
 */
import { eq } from 'drizzle-orm';
import type { Clock } from '../../lib/clock.ts';
import type { Db, Tx } from '../../db/connection.ts';
import { readDatabaseTime } from '../../db/databaseTime.ts';
import { manualRampSessions } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { readCallbackBody } from '../callbackBody.ts';
import type { RampAnswer, RampProvider, RampSession } from '../port.ts';
import { MANUAL_PROVIDER } from '../providerName.ts';
import {
  addManualStatus,
  findManualSession,
  lockManualSession,
  requirePayable,
  type ManualSession,
  type ManualStatusChange,
} from './manualStatuses.ts';
import { quoteManually, type ManualPrices } from './quotes.ts';

interface ManualProviderOptions extends ManualPrices {
  db: Db;
  clock: Clock;
  random: (size: number) => Uint8Array;
}

export interface ManualControls {
  /**
   * Records the status that an operator states.
   * @param confirm works in the same transaction, before the change: when it throws, nothing changes
   * @throws DomainError NOT_FOUND; CONFLICT when the payout has ended, or another person makes it
   */
  setStatus(
    sessionId: string,
    change: ManualStatusChange,
    confirm?: (tx: Tx) => Promise<void>,
  ): Promise<RampSession>;
}

type ManualProvider = RampProvider & ManualControls;

/** Random bytes of a session's id, enough that the id can't be guessed. */
const SESSION_ID_BYTES = 24;

export function createManualProvider(options: ManualProviderOptions): ManualProvider {
  const { db, clock } = options;

  const answerOf = (sessionId: string) => readAnswer(db, sessionId);

  async function findSessionByReference(reference: string): Promise<RampSession | null> {
    const session = await findManualSession(db, eq(manualRampSessions.reference, reference));
    return session ? opened(session) : null;
  }

  return {
    name: MANUAL_PROVIDER,
    quote: async (request) => quoteManually(options, request, await readDatabaseTime(db)),
    findSessionByReference,
    getStatus: answerOf,
    // No signature is needed: a callback only causes one getStatus, and its sender must know the session id.
    readCallback: ({ rawBody }) => readCallbackBody(rawBody),

    async openSession({ reference, quote }) {
      const id = `manual_${Buffer.from(options.random(SESSION_ID_BYTES)).toString('base64url')}`;
      const { fiatCurrency, fiatAmount } = quote;
      const [inserted] = await db
        .insert(manualRampSessions)
        .values({ id, reference, fiatCurrency, fiatAmount, createdAt: clock.now() })
        .onConflictDoNothing({ target: manualRampSessions.reference })
        .returning();
      const session = inserted
        ? opened({ ...inserted, status: 'pending' })
        : await findSessionByReference(reference);
      if (!session) throw new Error(`manual session ${reference} neither inserted nor found`);
      return session;
    },

    async closeSession(sessionId) {
      // A pending session is closed as failed; one that is being paid, or was paid meanwhile, stays as it is.
      await db.transaction(async (tx) => {
        const session = await lockManualSession(tx, sessionId);
        if (session?.status !== 'pending') return;
        await addManualStatus(tx, session, { status: 'failed', setBy: null }, clock.now());
      });
      return answerOf(sessionId);
    },

    async setStatus(sessionId, change, confirm) {
      await db.transaction(async (tx) => {
        await confirm?.(tx);
        const session = await lockManualSession(tx, sessionId);
        if (!session) throw noManualSession(sessionId);
        requirePayable(session, change);
        await addManualStatus(tx, session, change, clock.now());
      });
      return { sessionId, status: change.status };
    },
  };
}

async function readAnswer(db: ManualProviderOptions['db'], sessionId: string): Promise<RampAnswer> {
  const session = await findManualSession(db, eq(manualRampSessions.id, sessionId));
  if (!session) throw new DomainError('RAMP_REFUSED', noSession(sessionId));
  return shown(session);
}

type Shown = Pick<ManualSession, 'id' | 'status' | 'fiatCurrency' | 'fiatAmount'>;

function opened(session: Shown): RampSession {
  return { sessionId: session.id, ...shown(session) };
}

function shown({ status, fiatCurrency, fiatAmount }: Shown): RampAnswer {
  return { status, fiat: { currency: fiatCurrency, amount: fiatAmount } };
}

function noSession(sessionId: string): string {
  return `The manual provider has no session "${sessionId}".`;
}

/** The error for operators, who name a session by the provider's id. */
export function noManualSession(sessionId: string): DomainError {
  return new DomainError('NOT_FOUND', noSession(sessionId), { field: 'input.sessionId' });
}
