/**
 * An instance of the platform on an EVM chain and a database, for as long as a piece of work takes: what was on it before and after is
 * another instance.
 */
import { eq } from 'drizzle-orm';
import { connectLedger } from '../../../devnet/ledgers.ts';
import type { EvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { submissions } from '../../../src/db/tables/index.ts';
import type { EvmLedger } from '../../../src/ledger/network/evm/settings.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import {
  resolveSubmissionReview,
  type SubmissionReviewDecision,
} from '../../../src/resolvers/operations/resolveSubmissionReview.ts';
import type { ComposeOptions, Platform } from '../../../src/startup/compose.ts';
import { createTestDatabase } from '../database/database.ts';
import { holding } from '../holding.ts';
import { platformOn } from '../platform.ts';

export interface Instance extends Platform {
  handle: DatabaseHandle;
}

interface InstanceOptions {
  /** One that is not started signs nothing. */
  starts?: boolean;
  mutationWaitMs?: number;
  ledger?: Partial<EvmLedger>;
  /** What the platform is given in place of the network. */
  adapt?: (network: LedgerNetwork) => LedgerNetwork;
  /** Of its transparency logs. */
  transparencyLogOrigin?: string;
  /** By default the provider that people set the statuses of. */
  ramp?: ComposeOptions['ramp'];
}

/** For hangs only: work that is begun is done, or under review, in a second or two on a machine with nothing else to do. */
const PATIENCE_MS = 30_000;

/** @param worldOf is asked at each use: the world is made in a hook */
export function instancesOn(worldOf: () => EvmWorld) {
  return async function onInstance<T>(
    url: string,
    work: (instance: Instance) => Promise<T>,
    {
      starts = true,
      mutationWaitMs = starts ? PATIENCE_MS : 0,
      ledger,
      adapt = (network) => network,
      transparencyLogOrigin,
      ramp,
    }: InstanceOptions = {},
  ): Promise<T> {
    const handle = openDatabase({ url, poolSize: 3, applicationName: 'an instance on EVM' });
    const network = await connectLedger({ ...worldOf().ledger, ...ledger }, handle);
    const platform = await platformOn(handle, adapt(network), {
      mutationWaitMs,
      transparencyLogOrigin,
      ...(ramp && { ramp }),
    });
    if (starts) await platform.start();
    try {
      return await work({ ...platform, handle });
    } finally {
      await platform.stop();
      await handle.close();
    }
  };
}

/** A database whose buyer holds all tonnes of a token, and a copy of it; neither has a connection. */
export async function copyWhileHolding(onInstance: ReturnType<typeof instancesOn>, tonnes: bigint) {
  const original = await createTestDatabase();
  await original.handle.close();
  const tokenAddress = await onInstance(original.url, (platform) => holding(platform, tonnes));
  const copy = await createTestDatabase({ copyOf: original });
  await copy.handle.close();
  return { original, copy, tokenAddress, drop: () => Promise.all([original.drop(), copy.drop()]) };
}

/** An operator decides the one submission that is under review. */
export async function decideReview(
  { dependencies, handle }: Instance,
  decision: SubmissionReviewDecision,
  recordIndex?: number,
) {
  const [submission] = await handle.db
    .select()
    .from(submissions)
    .where(eq(submissions.state, 'NEEDS_REVIEW'));
  const input = { submissionId: submission?.id ?? '', decision, recordIndex, reason: 'looked at it' };
  return resolveSubmissionReview(dependencies, 'operator', input);
}
