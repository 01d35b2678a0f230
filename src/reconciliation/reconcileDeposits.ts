/**
 * Compares each off-ramp session with its deposit in the settlement contract: depositor, amount, and present
 * status.
 */
import { and, eq, isNotNull, sql, type SQL } from 'drizzle-orm';
import { offRampSessions, submissions } from '../db/tables/index.ts';
import { NetworkRefusal, type OffRampDeposit } from '../ledger/network/port.ts';
import { toBaseUnits } from '../ledger/units.ts';
import { groupBy } from '../lib/groupBy.ts';
import { isEndAccepted, isLossAccepted } from './contradictions/offRampSessions.ts';
import type { ReconcileDependencies } from './reconcileProject.ts';
import { createQuestions, type Questions } from './questions.ts';
import { pagesById } from './pagesById.ts';
import { add, broken, nothingCompared, unproved, type Comparison } from './verdicts.ts';
import { getOrMake } from '../lib/getOrMake.ts';

type Dependencies = Pick<ReconcileDependencies, 'db' | 'network' | 'isStill'> & {
  /** In an incremental run, the compared sessions. */
  offRampSessionIds?: readonly string[];
};

const MAX_CONCURRENT_READS = 8;
/** A session that changes while it is read is read again, up to this number of reads. */
const MAX_READS = 3;

/**
 * The session's table is written by its name: Drizzle writes only the column of a query's only table, which
 * would then be the submission's column.
 */
const isUnderWay = sql<boolean>`EXISTS (SELECT 1 FROM ${submissions} s
  WHERE s.target_id = off_ramp_sessions.id AND s.state IN ('PENDING', 'NEEDS_REVIEW'))`;

/** Two providers may use the same id, and the settlement contract accepts an id once. */
const isDepositOfAnother = sql<boolean>`EXISTS (SELECT 1 FROM ${offRampSessions} o
  WHERE o.receipt_id = off_ramp_sessions.receipt_id AND o.settlement_address = off_ramp_sessions.settlement_address
    AND o.provider_session_id = off_ramp_sessions.provider_session_id AND o.id <> off_ramp_sessions.id
    AND (o.deposited_at IS NOT NULL OR o.state = 'DEPOSITING' OR off_ramp_sessions.state = 'CLOSED' AND o.state <> 'CLOSED'))`;

const isAccepted = sql<boolean>`${sql.raw(isEndAccepted('off_ramp_sessions'))}`;

const ROW = {
  id: offRampSessions.id,
  state: offRampSessions.state,
  tokenAddress: offRampSessions.tokenAddress,
  tokenAmountKg: offRampSessions.tokenAmountKg,
  depositorAddress: offRampSessions.depositorAddress,
  settlementAddress: offRampSessions.settlementAddress,
  depositor: offRampSessions.depositor,
  providerSessionId: offRampSessions.providerSessionId,
  depositedAt: offRampSessions.depositedAt,
  releasedAt: offRampSessions.releasedAt,
  resolution: offRampSessions.resolution,
  isUnderWay,
  isDepositOfAnother,
  isAccepted,
  isLossAccepted: sql<boolean>`${sql.raw(isLossAccepted('off_ramp_sessions'))}`,
};

type Session = Awaited<ReturnType<ReturnType<typeof selectSessions>>>[number];

export async function reconcileDeposits(deps: Dependencies): Promise<Comparison> {
  // By contract: one that can't be read, with many sessions, would leave the deposits in the others uncompared.
  const questions = new Map<string, Questions>();
  for await (const page of pagesById(offRampSessions.id, deps.offRampSessionIds, selectSessions(deps))) {
    for (const [contract, sessions] of groupBy(page, ({ settlementAddress }) => settlementAddress)) {
      const ofContract = getOrMake(questions, contract, () => questionsAbout(contract));
      await ofContract.askAll(
        sessions,
        ({ id }) => `off-ramp session ${id}`,
        (session) => compareSession(deps, session),
      );
    }
  }
  const compared = nothingCompared();
  for (const ofContract of questions.values()) add(compared, ofContract.sum());
  return compared;
}

function questionsAbout(contract: string): Questions {
  return createQuestions({
    invariants: ['I13'],
    noun: `deposits in settlement contract ${contract}`,
    concurrency: MAX_CONCURRENT_READS,
  });
}

const selectSessions =
  ({ db }: Dependencies) =>
  (where: SQL | undefined) =>
    db
      .select(ROW)
      .from(offRampSessions)
      .where(and(isNotNull(offRampSessions.providerSessionId), where));

/** @throws NetworkUnavailable */
async function compareSession(deps: Dependencies, session: Session): Promise<Comparison> {
  let current = session;
  for (let reads = 1; ; reads++) {
    const compared = await compareWithContract(deps, current);
    if (compared.findings.length + compared.notProved.length === 0 || reads === MAX_READS) return compared;
    const [again] = await deps.db.select(ROW).from(offRampSessions).where(eq(offRampSessions.id, session.id));
    if (again === undefined || JSON.stringify(again, digits) === JSON.stringify(current, digits)) {
      return compared;
    }
    current = again;
  }
}

/** Another contract may stand at the address since: it shows nothing about the session's deposit. */
async function compareWithContract(deps: Dependencies, session: Session): Promise<Comparison> {
  const { id, settlementAddress, providerSessionId } = session;
  try {
    const deposit = await deps.network.offRampDeposit(settlementAddress, providerSessionId ?? '');
    return compareDeposit(deps, session, deposit);
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw error;
    const message = `off-ramp session ${id}: its deposit can't be read: ${error.message} (${error.reason})`;
    return unproved(['I13'], 'NO_DATA', message);
  }
}

const digits = (_key: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);

export function compareDeposit(
  { isStill = false }: Pick<Dependencies, 'isStill'>,
  session: Session,
  deposit: OffRampDeposit | null,
): Comparison {
  const finding = (message: string) =>
    broken('I13', `off-ramp session ${session.id} is ${session.state}: ${message}`);
  const mayMove = session.isUnderWay && !isStill;
  const shown = deposit?.status ?? 'no deposit';
  if (session.depositedAt === null) {
    // Another account may use a reference before its depositor does; its deposit does not belong to the
    // session.
    const isOwn = deposit !== null && isAsAgreed(session, deposit) && !session.isDepositOfAnother;
    if (!isOwn) return nothingCompared();
    const isExpected = mayMove || (session.depositor === 'HOLDER' && deposit.status === 'PENDING');
    return isExpected ? underWay(session, shown) : finding(`the settlement contract has a deposit, ${shown}`);
  }
  if (deposit === null) {
    // On a network that lost the deposit, the depositor has the tokens, as after a refund.
    const isBack = session.state === 'REFUNDED' && session.isLossAccepted;
    return isBack ? nothingCompared() : finding('the settlement contract has no deposit of it');
  }
  // A holder's deposit that differs from the agreement must be refunded, which may wait for the end of a
  // pause or a halt; or another program has released it, which an operator has accepted.
  const isGivenUp =
    session.state === 'SETTLED' &&
    session.resolution !== 'SETTLE' &&
    session.isAccepted &&
    isOfHolder(session, deposit);
  if (!isAsAgreed(session, deposit) && deposit.status !== 'REFUNDED' && !isGivenUp) {
    if (isBeingGivenBack(session, deposit)) return underWay(session, 'a deposit that was not agreed');
    const { amount, tokenAddress, depositor } = deposit;
    return finding(`its deposit is of ${amount} base units of ${tokenAddress} by ${depositor}`);
  }
  const expected = expectedStatuses(session);
  if (expected.includes(deposit.status)) return nothingCompared();
  if (session.releasedAt === null && mayMove) return underWay(session, shown);
  return finding(`its deposit is ${shown}, not ${expected.join(' or ')}`);
}

function isBeingGivenBack(session: Session, deposit: OffRampDeposit): boolean {
  return isOfHolder(session, deposit) && session.resolution === 'REFUND' && deposit.status === 'PENDING';
}

/** Tokens of the receipt that a session of a holder has to account for, in any amount and from any depositor. */
function isOfHolder(session: Session, { tokenAddress }: OffRampDeposit): boolean {
  return session.depositor === 'HOLDER' && tokenAddress === session.tokenAddress;
}

function expectedStatuses(session: Session): OffRampDeposit['status'][] {
  if (session.releasedAt === null) return ['PENDING'];
  if (session.state === 'SETTLED' || session.state === 'REFUNDED') return [session.state];
  if (session.resolution === null) return ['SETTLED', 'REFUNDED'];
  return [session.resolution === 'SETTLE' ? 'SETTLED' : 'REFUNDED'];
}

function isAsAgreed(session: Session, deposit: OffRampDeposit): boolean {
  return (
    deposit.depositor === session.depositorAddress &&
    deposit.tokenAddress === session.tokenAddress &&
    deposit.amount === toBaseUnits(session.tokenAmountKg)
  );
}

function underWay(session: Session, shown: string): Comparison {
  const obstacle = session.state === 'NEEDS_REVIEW' ? 'UNDER_REVIEW' : 'UNDER_WAY';
  const message = `off-ramp session ${session.id} is ${session.state}, and the settlement contract shows ${shown} already`;
  return unproved(['I13'], obstacle, message);
}
