/**
 * What the use cases work with, put together once in app.ts and passed to each of them.
 */
import type { Clock, IdSource } from '../clock.ts';
import type { Db } from '../db/connection.ts';
import type { Doorbell } from '../db/doorbell.ts';
import type { FeedDependencies } from '../feed/fillToken.ts';
import type { FeedFollower } from '../feed/followFeed.ts';
import type { Healer } from '../feed/healer.ts';
import type { IndexerClient } from '../indexer/client.ts';
import type { ClockControl } from '../ledger/network/clockControl.ts';
import type { LedgerNetwork } from '../ledger/network/port.ts';
import type { SubmissionDependencies } from '../ledger/submission/submission.ts';
import type { Logger } from '../logger.ts';
import type { ManualControls } from '../ramp/manual/manualProvider.ts';
import type { RampProvider } from '../ramp/port.ts';
import type { Sealer } from '../sealer.ts';

export interface Dependencies {
  db: Db;
  network: LedgerNetwork;
  /** Of a network for development; null on a real one, which keeps its own time. */
  clockControl: ClockControl | null;
  /** Where mints go: the address that the custody signer burns from. */
  treasuryAddress: string;
  submission: SubmissionDependencies;
  /** Rings with a subject's id when its state changed. */
  subjects: Doorbell;
  /** Rings with an API key's id when it was revoked. */
  credentialBell: Doorbell;
  feed: FeedDependencies;
  healer: Healer;
  follower: FeedFollower;
  indexer: IndexerClient;
  /** The public address of POST /api/hooks/retirements, from configuration. */
  retirementsHookUrl: string;
  ramp: RampProvider;
  /** What operators may do at the manual provider; null when another one pays out. */
  manualRamp: ManualControls | null;
  /** Of receipts whose warehouse names no country. */
  receiptCountryCode: string;
  sealer: Sealer;
  /** Derives deploy salts, so that nobody else can take a token's address first. */
  saltKey: Uint8Array;
  clock: Clock;
  ids: IdSource;
  /** For secrets. */
  random: (size: number) => Uint8Array;
  log: Logger;
  /** How long a mutation waits for the network before it answers with the state reached. */
  mutationWaitMs: number;
}
