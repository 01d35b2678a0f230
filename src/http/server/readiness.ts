/**
 * Readiness: does what a mutation needs, a writing transaction on the same pool and a request to the network.
 */
import { sql } from 'drizzle-orm';
import type { DatabaseHandle, Db } from '../../db/connection.ts';
import { EFFECT_OF_LOST_NOTIFICATIONS } from '../../db/listener.ts';
import type { PublicReads } from '../../db/publicReads.ts';
import { installation } from '../../db/tables/index.ts';
import { describeNetwork } from '../../ledger/network/continuity.ts';
import type { LedgerNetwork } from '../../ledger/network/port.ts';
import { MAY_LAND_UNSEEN } from '../../ledger/network/seenLedgers.ts';
import { readSigningState } from '../../ledger/submission/sequenceSlots.ts';
import { singleFlight } from '../../lib/singleFlight.ts';
import { withTimeout } from '../../lib/timeout.ts';

/** Work that should have got further by now: how much, and since when the oldest waits. */
interface LateWork {
  stuckSubmissions: number;
  stuckSince: Date | null;
  overdueSessions: number;
  overdueSince: Date | null;
  overdueExpiryRuns: number;
  expiryOverdueSince: Date | null;
}

export interface Readiness {
  isReady: boolean;
  checks: Readonly<Record<string, string>>;
}

/** Load balancers wait a few seconds; mutations whose first statement takes longer are too slow as well. */
const CHECK_TIMEOUT_MS = 3_000;

export function createReadiness(deps: {
  db: Db;
  network: Pick<LedgerNetwork, 'status' | 'continuity' | 'nextSequences' | 'signingOrder'>;
  /** The invariants that the last reconciliation found broken. */
  findBroken: () => Promise<readonly string[]>;
  readOpenWork: () => Promise<LateWork>;
  publicReads: Pick<PublicReads, 'replicas'>;
  isListening: DatabaseHandle['isListening'];
}): () => Promise<Readiness> {
  const { db, network } = deps;
  const database = check(async () => {
    await takePartInWriting(db);
    return 'ok';
  });
  const ofNetwork = check(async () => {
    const [found] = await Promise.all([describeNetwork(network), network.nextSequences()]);
    return found;
  });
  /**
   * These problems are reported but are no reason to divert traffic: every instance has them, purchases and
   * reads go on, and an operator has to look.
   */
  const details = {
    signing: check(async () => {
      if (network.signingOrder === null) return 'ok';
      const state = await readSigningState(db, network.signingOrder);
      if (state.haltedBecause !== null) return `halted: ${state.haltedBecause}`;
      return state.mayLandUnseen ? `waiting: ${MAY_LAND_UNSEEN}` : 'ok';
    }),
    reconciliation: check(async () => {
      const broken = await deps.findBroken();
      return broken.length === 0 ? 'ok' : `broken: ${broken.join(', ')}`;
    }),
    submissions: check(async () => {
      const { stuckSubmissions, stuckSince } = await deps.readOpenWork();
      return late(stuckSubmissions, 'stuck', stuckSince);
    }),
    offRampSessions: check(async () => {
      const { overdueSessions, overdueSince } = await deps.readOpenWork();
      return late(overdueSessions, 'overdue', overdueSince);
    }),
    expiryRuns: check(async () => {
      const { overdueExpiryRuns, expiryOverdueSince } = await deps.readOpenWork();
      return late(overdueExpiryRuns, 'overdue', expiryOverdueSince);
    }),
    notifications: check(async () => (deps.isListening() ? 'ok' : `lost: ${EFFECT_OF_LOST_NOTIFICATIONS}`)),
    replicas: check(async () => unusedOf(deps.publicReads)),
  };
  return async () => {
    const [databaseState, networkState, ...found] = await Promise.all([
      database(),
      ofNetwork(),
      ...Object.entries(details).map(async ([name, find]) => [name, await find()] as const),
    ]);
    const isReachable = databaseState === 'ok';
    const problems = found.filter(([, state]) => isReachable && state !== 'ok');
    return {
      isReady: isReachable && networkState === 'ok',
      checks: {
        database: databaseState,
        network: networkState,
        ...channelsOf(network),
        ...Object.fromEntries(problems),
      },
    };
  };
}

function unusedOf(publicReads: Pick<PublicReads, 'replicas'>): string {
  const unused = publicReads.replicas().filter(({ obstacle }) => obstacle !== null);
  return unused.length === 0
    ? 'ok'
    : unused.map(({ name, obstacle }) => `${name} is not used: ${obstacle}`).join(', ');
}

function late(count: number, what: string, since: Date | null): string {
  return count === 0 ? 'ok' : `${count} ${what}, the oldest since ${since?.toISOString()}`;
}

/**
 * Problems of signing accounts are reported but are no reason to divert traffic, because other instances
 * sign.
 */
function channelsOf({ signingOrder }: Pick<LedgerNetwork, 'signingOrder'>): Record<string, string> {
  const { accounts = [], missing = [], unfunded = [] } = signingOrder ?? {};
  const of = `of ${missing.length + accounts.length} signing accounts`;
  const problems = [
    ...(missing.length === 0 ? [] : [`${missing.length} ${of} do not exist`]),
    ...(unfunded.length === 0 ? [] : [`${unfunded.length} ${of} can't pay`]),
  ];
  return problems.length === 0 ? {} : { channels: problems.join(', ') };
}

/**
 * Runs one probe at a time: while a probe has no answer, another would only take a connection from a
 * mutation.
 */
function check(probe: () => Promise<string>): () => Promise<string> {
  const shared = singleFlight(probe);
  return async () => {
    try {
      return await withTimeout(CHECK_TIMEOUT_MS, shared());
    } catch {
      return 'unreachable';
    }
  };
}

/**
 * A row lock is a write, which a standby and a read-only database refuse; this lock blocks no other
 * transaction.
 */
function takePartInWriting(db: Db): Promise<unknown> {
  return db.transaction((tx) => tx.execute(sql`SELECT FROM ${installation} FOR KEY SHARE`));
}
