/**
 * Sends transactions again that had landed and were rolled back with the network, and names the sequence that
 * is missing in front of them.
 */
import { and, asc, desc, eq, getTableColumns, gte, isNotNull } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { attempts, holderActs } from '../../db/tables/index.ts';
import { DomainError, nullFor } from '../../lib/errors.ts';
import { NetworkUnavailable, type NextSequences } from '../network/port.ts';
import type { Attempt } from './attempts.ts';
import { isHaltYounger } from './halts.ts';
import { takesUpSlot } from './sequenceSlots.ts';
import type { SubmissionDependencies } from './submission.ts';

/** Maximum transactions that a node is certain to keep of one account; the next check sends the rest. */
const MAX_RESENT = 16;
/** Holders' transactions in one page; each costs a question to the node. */
const HOLDERS_PER_PAGE = 32;
const MAX_PAGES_OF_HOLDERS = 8;
/**
 * Longer than any network takes to make a landed transaction final. A holder's transaction that can't land
 * must not hold up all others for ever.
 */
const WAITS_FOR_OTHERS_MINUTES = 60;

/**
 * Sends rolled-back transactions again: the same bytes land in the same slot, at most once, and leave no gap
 * in front of later ones. The exceptions are refused transactions, whose reserved value was returned, and
 * whose reason of refusal may be rolled back, too, and transactions whose time is over.
 * @returns the number of rolled-back transactions
 */
export async function resendRolledBack(
  deps: SubmissionDependencies,
  expected: NextSequences,
): Promise<number> {
  const ofHolders = await findRolledBackOfHolders(deps);
  const ofCustody: RolledBack[] = [];
  const gaps: { address: string; sequence: bigint }[] = [];
  let firstGap: string | null = null;
  for (const [address, sequence] of expected) {
    const rolledBack = await findRolledBack(deps, address, sequence);
    const gap = await describeGap(deps.db, address, { expected: sequence, rolledBack });
    if (gap !== null) gaps.push({ address, sequence });
    firstGap ??= gap;
    ofCustody.push(...rolledBack);
  }
  if (firstGap !== null) deps.log.error({ gaps }, firstGap);
  const sentAgain = ofCustody.filter(isSentAgain);
  const mayWait = await isHaltYounger(deps.db, WAITS_FOR_OTHERS_MINUTES);
  await sendAgain(deps, sentAgain, mayWait ? ofHolders : []);
  await sendAgain(deps, ofHolders, mayWait ? sentAgain : []);
  return ofCustody.length + ofHolders.length;
}

/**
 * Transactions of custody and of holders depend on each other: a release on the deposit, a deposit on the
 * mint. One that lands before the one it depends on is finally refused. So a transaction that had landed
 * after one of `others` is sent only once that one has landed again.
 * @param others rolled-back transactions to wait for; none once the halt has lasted WAITS_FOR_OTHERS_MINUTES
 */
async function sendAgain(
  { network, log }: Pick<SubmissionDependencies, 'network' | 'log'>,
  rolledBack: readonly Sent[],
  others: readonly Sent[],
): Promise<void> {
  for (const { hash: txHash, signedBytes, ledger } of rolledBack) {
    const before = others.find((other) => (other.ledger ?? 0n) < (ledger ?? 0n));
    if (before) log.warn({ txHash }, `had landed, and is sent again when ${before.hash} has landed again`);
    else {
      const answer = await network.broadcast(signedBytes);
      log.warn({ txHash, answer }, 'had landed, and is not final in the network any more: sent again');
    }
  }
}

/**
 * Finds holders' rolled-back transactions. A cash-out is paid even if its deposit is rolled back, and only
 * the platform has the bytes if no node kept them. Holders' sequences are not read, so the newest landed
 * transactions are looked up one by one, and further pages while any is rolled back.
 * @returns the oldest first
 */
async function findRolledBackOfHolders({ db, network }: SubmissionDependencies): Promise<Attempt[]> {
  const found: Attempt[] = [];
  for (let page = 0; page < MAX_PAGES_OF_HOLDERS; page++) {
    const landed = await newestOfHolders(db, page);
    // There is no answer, for example, when the holder sent another transaction on a chain that is not accepted.
    // The reconciliation that follows names that transaction.
    const answers = await Promise.all(
      landed.map(async (sent) => ({
        sent,
        outcome: await network.outcome(sent).catch(nullFor(NetworkUnavailable)),
      })),
    );
    const rolledBack = answers.filter(({ outcome }) => outcome?.status === 'pending');
    found.push(...rolledBack.map(({ sent }) => sent));
    const isMoved = answers.some(
      ({ sent, outcome }) => outcome?.status === 'succeeded' && outcome.ledger !== sent.ledger,
    );
    if ((rolledBack.length === 0 && !isMoved) || landed.length < HOLDERS_PER_PAGE) break;
  }
  return found.toReversed();
}

/** Reads by acts, because their ids follow time, and they are few compared with custody's transactions. */
function newestOfHolders(db: Pick<Db, 'select'>, page: number): Promise<Attempt[]> {
  return db
    .select(getTableColumns(attempts))
    .from(holderActs)
    .innerJoin(
      attempts,
      and(eq(attempts.submissionId, holderActs.submissionId), eq(attempts.state, 'LANDED')),
    )
    .orderBy(desc(holderActs.id))
    .limit(HOLDERS_PER_PAGE)
    .offset(page * HOLDERS_PER_PAGE);
}

type Sent = Pick<Attempt, 'hash' | 'signedBytes' | 'ledger'>;

interface RolledBack extends Sent, Pick<Attempt, 'state' | 'sequence'> {
  /** By the network's clock, `validUntil` has passed: the transaction can no longer land. */
  isTimeOver: boolean;
}

const isSentAgain = ({ state, isTimeOver }: RolledBack) => state === 'LANDED' && !isTimeOver;

/** @returns rolled-back transactions in the order of their sequences */
async function findRolledBack(
  { db, network }: Pick<SubmissionDependencies, 'db' | 'network'>,
  address: string,
  expected: bigint,
): Promise<RolledBack[]> {
  const { hash, state, signedBytes, sequence, ledger, validUntil } = attempts;
  const found = await db
    .select({ hash, state, signedBytes, sequence, ledger, validUntil })
    .from(attempts)
    .where(and(eq(attempts.source, address), isNotNull(attempts.ledger), gte(attempts.sequence, expected)))
    .orderBy(asc(attempts.sequence))
    .limit(MAX_RESENT);
  if (found.length === 0) return [];
  const { closedAt } = await network.status();
  return found.map(({ validUntil: until, ...sent }) => ({
    ...sent,
    isTimeOver: until !== null && until < closedAt,
  }));
}

/**
 * Names a sequence that is missing in front of the transactions that are sent. Rolled-back transactions of
 * another program with the key, those that landed without effect, and those that can no longer land are not
 * sent again, and transactions behind them would wait for ever.
 * @returns null when nothing is rolled back or under way, or nothing is missing in front of the first that is
 * sent
 */
async function describeGap(
  db: Pick<Db, 'select'>,
  address: string,
  { expected, rolledBack }: { expected: bigint; rolledBack: readonly RolledBack[] },
): Promise<string | null> {
  // Transactions under way are sent by the steps of their submissions.
  const [underWay] = await db
    .select({ sequence: attempts.sequence })
    .from(attempts)
    .where(and(eq(attempts.source, address), gte(attempts.sequence, expected), takesUpSlot))
    .orderBy(asc(attempts.sequence))
    .limit(1);
  if (rolledBack.length === 0 && underWay === undefined) return null;
  const first = [rolledBack.find(isSentAgain), underWay];
  if (first.some((sent) => sent?.sequence === expected)) return null;
  return (
    `It waits for sequence ${expected} of ${address}, which nothing has that is sent again: resume the submission under review ` +
    'that had it, or send one with this sequence by hand that does nothing, such as a transfer of nothing.'
  );
}

/** @throws DomainError CONFLICT when a transaction is rolled back */
export async function requireNothingRolledBack(
  deps: SubmissionDependencies,
  expected: NextSequences,
): Promise<void> {
  for (const [address, sequence] of expected) {
    const rolledBack = await findRolledBack(deps, address, sequence);
    const [first] = rolledBack;
    if (!first) continue;
    const gap = await describeGap(deps.db, address, { expected: sequence, rolledBack });
    throw new DomainError(
      'CONFLICT',
      `Transaction ${first.hash} had landed with sequence ${first.sequence} of ${address}, and the network calls that ` +
        `sequence unused. ${describeFate(first)}; ` +
        'signing can go on when the sequence is used, or when the node is right again.' +
        (gap === null ? '' : ` ${gap}`),
      { txHash: first.hash },
    );
  }
}

function describeFate(transaction: RolledBack): string {
  if (isSentAgain(transaction)) return 'It is sent again by itself';
  const why = transaction.state === 'LANDED' ? 'can no longer land' : 'was refused';
  return `It ${why}, so it is not sent again`;
}
