/**
 * The services and settings of a running instance, composed once in startup/compose.ts. A use case names the
 * few that it takes with `Needs`.
 */
import type { Clock, IdSource } from '../../lib/clock.ts';
import type { Db } from '../../db/connection.ts';
import type { PublicReads } from '../../db/publicReads.ts';
import type { ChangeSignal } from '../../db/changeSignal.ts';
import type { FeedDependencies } from '../../feed/fillToken.ts';
import type { FeedFollower } from '../../feed/followFeed.ts';
import type { FeedFiller } from '../../feed/feedFiller.ts';
import type { IndexerClient } from '../../indexer/client.ts';
import type { Books } from '../../ledger/books/books.ts';
import type { ClockControl } from '../../ledger/network/family.ts';
import type { TokenRevocations } from '../../identity/tokenRevocations.ts';
import type { LedgerNetwork } from '../../ledger/network/port.ts';
import type { SubmissionDependencies } from '../../ledger/submission/submission.ts';
import type { Logger } from '../../lib/logger.ts';
import type { ManualControls } from '../../ramp/manual/manualProvider.ts';
import type { RampProvider } from '../../ramp/port.ts';
import type { ApprovalPolicy } from '../approvals/approvalPolicy.ts';
import type { HistoryCache } from '../carbon/historyCache.ts';
import type { ChangeFollower } from './changeFollower.ts';
import type { TransparencyLogs } from '../../transparency/logs.ts';
import type { Sealer } from '../../lib/sealer.ts';
import type { PayoutAccounts } from '../warehouse/offRamp/payoutAccount.ts';

export interface Dependencies {
  db: Db;
  /** For public lists that may be some seconds old; never for what a caller owns or a decision needs. */
  publicReads: PublicReads;
  historyCache: HistoryCache;
  /** Writes bookings of many requests in batches. */
  books: Books;
  network: LedgerNetwork;
  /** Moves the time of a development network; null on a real network, which keeps its own time. */
  clockControl: ClockControl | null;
  /** Append-only logs that prove committed rows to everyone. */
  logs: TransparencyLogs;
  submission: SubmissionDependencies;
  /** Notified with a row's id when its state changed. */
  stateSignal: ChangeSignal;
  /** Notified with an API key's id when the key was revoked, and when tokens were revoked. */
  credentialSignal: ChangeSignal;
  tokenRevocations: TokenRevocations;
  feed: FeedDependencies;
  feedFiller: FeedFiller;
  follower: FeedFollower;
  changeFollower: ChangeFollower;
  indexer: IndexerClient;
  /** The public address of POST /api/hooks/retirements, from configuration. */
  retirementsHookUrl: string;
  ramp: RampProvider;
  /** Operators' controls of the manual provider; null when another provider is configured. */
  manualRamp: ManualControls | null;
  approvalPolicy: ApprovalPolicy;
  /** Country of a receipt whose deposit names none. ISO 3166-1 alpha-2. */
  receiptCountryCode: string;
  sealer: Sealer;
  payoutAccounts: PayoutAccounts;
  /** HMAC key of deploy salts. It is secret, so that no other account can occupy a token's address first. */
  saltKey: Uint8Array;
  clock: Clock;
  ids: IdSource;
  /** Cryptographically secure random bytes. */
  random: (size: number) => Uint8Array;
  log: Logger;
  /** How long a mutation waits for the network before it answers with the state reached. */
  mutationWaitMs: number;
}

/** A use case that needs more members should be split, or members that belong together should be grouped. */
type AtMostSeven = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;

/**
 * The dependencies of one use case: the named members of `Dependencies`, at most seven. With more names the
 * type has none of them, and the use case does not compile. A wider set names the narrower one by its keys:
 * `Needs<keyof HoldNeeds | 'network'>`.
 */
export type Needs<Name extends keyof Dependencies> =
  MembersOf<Name> extends { length: AtMostSeven } ? Pick<Dependencies, Name> : TooManyNeeds;

export interface TooManyNeeds {
  'A use case takes at most seven members of Dependencies': never;
}

/** Converts a union to a tuple, whose length can be counted. */
type MembersOf<Union, Counted extends unknown[] = []> = [Union] extends [never]
  ? Counted
  : MembersOf<Exclude<Union, LastOf<Union>>, [...Counted, LastOf<Union>]>;

/** Picks one member of a union: `infer` takes the last of several overloads. */
type LastOf<Union> = Overloads<Union> extends () => infer Last ? Last : never;

type Overloads<Union> = (Union extends unknown ? (take: () => Union) => void : never) extends (
  take: infer Overload,
) => void
  ? Overload
  : never;
