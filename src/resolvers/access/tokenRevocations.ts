/**
 * Ends bearer tokens before their expiry: one token, or all that a subject has by now.
 */
import { and, eq, gt, lt, sql, type SQL } from 'drizzle-orm';
import { isAmong } from '../../db/conditions.ts';
import type { Tx } from '../../db/connection.ts';
import { readDatabaseTime } from '../../db/databaseTime.ts';
import { listerOf } from '../../db/keyset.ts';
import { tokenRevocations } from '../../db/tables/index.ts';
import { MAX_REVOCATIONS, TOKENS_REVOKED, type TokenRevocationRow } from '../../identity/tokenRevocations.ts';
import { CLOCK_TOLERANCE_SECONDS } from '../../identity/tokens.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';

interface RevokeTokensInput {
  /** Either `jti` or `subject` must be given. */
  jti?: string | null | undefined;
  subject?: string | null | undefined;
  /** Unix seconds, only with a subject; ten seconds from now when left out. */
  issuedUntil?: bigint | null | undefined;
  reason?: string | null | undefined;
}

type RevokeNeeds = Needs<'db' | 'ids' | 'credentialSignal' | 'tokenRevocations'>;

/**
 * Afterwards this instance refuses the tokens. Revoking a `jti` again changes nothing; for a subject the
 * later time counts.
 * @throws DomainError BAD_USER_INPUT, CONFLICT
 */
export async function revokeTokens(
  deps: RevokeNeeds,
  adminId: string,
  input: RevokeTokensInput,
): Promise<TokenRevocationRow> {
  const now = await readDatabaseTime(deps.db);
  const about = tokensOf(input, now);
  const livesMs = (deps.tokenRevocations.maxTokenSeconds + 2 * CLOCK_TOLERANCE_SECONDS) * 1000;
  const row: TokenRevocationRow = {
    ...about,
    id: deps.ids.next(),
    reason: input.reason ?? null,
    revokedBy: adminId,
    revokedAt: now,
    endsAt: new Date((about.issuedUntil ?? now).getTime() + livesMs),
  };
  const revocation = await deps.db.transaction(async (tx) => {
    await tx.delete(tokenRevocations).where(lt(tokenRevocations.endsAt, sql`now()`));
    return (await insert(tx, row)) ?? readStanding(tx, row);
  });
  // An existing revocation is notified, too: a lost notification may have left the tokens in use on an
  // instance.
  deps.credentialSignal.notify(TOKENS_REVOKED);
  await deps.tokenRevocations.read();
  return revocation;
}

function tokensOf(
  { jti = null, subject = null, issuedUntil = null }: RevokeTokensInput,
  now: Date,
): Pick<TokenRevocationRow, 'jti' | 'subject' | 'issuedUntil'> {
  if ((jti === null) === (subject === null)) {
    const given = jti === null ? 'neither of them was given' : 'both were given';
    throw new DomainError(
      'BAD_USER_INPUT',
      `Name the tokens by either input.jti or input.subject; ${given}.`,
      { field: jti === null ? 'input' : 'input.subject' },
    );
  }
  // The identity provider's clock may be ahead and the database's behind: each makes a token of this moment
  // look later.
  const latest = Math.ceil(now.getTime() / 1000) + 2 * CLOCK_TOLERANCE_SECONDS;
  if (jti !== null) {
    if (issuedUntil === null) return { jti, subject, issuedUntil };
    throw new DomainError('BAD_USER_INPUT', 'input.issuedUntil goes with input.subject alone.', {
      field: 'input.issuedUntil',
    });
  }
  const before = Number(issuedUntil ?? latest);
  if (before > latest) {
    throw new DomainError(
      'BAD_USER_INPUT',
      `input.issuedUntil must not lie ahead; it is ${before}, and now is ${Math.floor(now.getTime() / 1000)}.`,
      { field: 'input.issuedUntil' },
    );
  }
  return { jti, subject, issuedUntil: new Date(before * 1000) };
}

/** @returns null when the standing revocation already covers the tokens */
async function insert(tx: Tx, row: TokenRevocationRow): Promise<TokenRevocationRow | null> {
  await requireRoom(tx, row);
  const { issuedUntil, reason, revokedBy, revokedAt } = row;
  const insertion = tx.insert(tokenRevocations).values(row);
  const [written] = await (
    row.subject === null
      ? insertion.onConflictDoNothing()
      : insertion.onConflictDoUpdate({
          target: tokenRevocations.subject,
          set: {
            issuedUntil,
            // Tokens from before AUTH_MAX_TOKEN_SECONDS was lowered live longer.
            endsAt: sql`greatest(${tokenRevocations.endsAt}, excluded.ends_at)`,
            reason,
            revokedBy,
            revokedAt,
          },
          setWhere: lt(tokenRevocations.issuedUntil, sql`excluded.issued_until`),
        })
  ).returning();
  return written ?? null;
}

/** A standing revocation that is repeated or moved takes no more room. */
async function requireRoom(tx: Tx, row: TokenRevocationRow): Promise<void> {
  const others = await tx.$count(tokenRevocations, sql`(${isAboutTheSame(row)}) IS NOT TRUE`);
  if (others < MAX_REVOCATIONS) return;
  throw new DomainError(
    'CONFLICT',
    `${MAX_REVOCATIONS} revocations are in force, as many as instances hold. Revoke subjects instead of single tokens, or ` +
      'change the key that your identity provider signs with.',
  );
}

async function readStanding(tx: Tx, row: TokenRevocationRow): Promise<TokenRevocationRow> {
  const [standing] = await tx.select().from(tokenRevocations).where(isAboutTheSame(row));
  if (standing === undefined) throw new Error('a revocation was neither written nor found');
  return standing;
}

function isAboutTheSame({ jti, subject }: TokenRevocationRow): SQL {
  return jti === null ? sql`${tokenRevocations.subject} = ${subject}` : eq(tokenRevocations.jti, jti);
}

const isInForce = gt(tokenRevocations.endsAt, sql`now()`);

/** Revocations in force, newest first. */
export const listTokenRevocations = listerOf(
  tokenRevocations,
  'revokedAt',
  { jtis: isAmong(tokenRevocations.jti), subjects: isAmong(tokenRevocations.subject) },
  { where: isInForce },
);

export async function findTokenRevocation(deps: Needs<'db'>, id: string): Promise<TokenRevocationRow | null> {
  const [row] = await deps.db
    .select()
    .from(tokenRevocations)
    .where(and(eq(tokenRevocations.id, id), isInForce));
  return row ?? null;
}
