/**
 * Runs an instance of the platform on a network and a database for as long as a piece of work takes. Work
 * before and after it runs on other instances.
 */
import { eq } from 'drizzle-orm';
import { connectLedger } from '../../devnet/ledgers.ts';
import type { NetworkWorld } from '../../devnet/world.ts';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import { submissions } from '../../src/db/tables/index.ts';
import type { LedgerConfig } from '../../src/ledger/network/families.ts';
import type { LedgerNetwork } from '../../src/ledger/network/port.ts';
import type { SubmissionReviewDecision } from '../../src/resolvers/operations/resolveSubmissionReview.ts';
import type { ComposeOptions, Platform } from '../../src/startup/compose.ts';
import { createTestDatabase } from './database/database.ts';
import { decideSubmission } from './decisions.ts';
import { holding } from './holding.ts';
import { platformOn } from './platform.ts';

export interface Instance extends Platform {
  handle: DatabaseHandle;
}

interface InstanceOptions {
  /** An instance that is not started signs nothing. */
  starts?: boolean;
  mutationWaitMs?: number;
  ledger?: Partial<LedgerConfig>;
  /** Wraps the network that the platform gets. */
  adapt?: (network: LedgerNetwork) => LedgerNetwork;
  /** Origin of its transparency logs. */
  transparencyLogOrigin?: string;
  /** The ramp provider; by default the manual one, whose statuses people set. */
  ramp?: ComposeOptions['ramp'];
}

/** Only a hang takes this long: on an idle machine, work is done or under review within a second or two. */
const PATIENCE_MS = 30_000;

/** @param worldOf is called at each use, because a hook makes the world */
export function instancesOn(worldOf: () => Pick<NetworkWorld, 'ledger'>) {
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
    const handle = openDatabase({ url, poolSize: 3, applicationName: 'an instance' });
    const network = await connectLedger({ ...worldOf().ledger, ...ledger } as LedgerConfig, handle);
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

/**
 * Makes a database whose buyer holds all tonnes of a token, and a copy of the database; neither has a
 * connection.
 */
export async function copyWhileHolding(onInstance: ReturnType<typeof instancesOn>, tonnes: bigint) {
  const original = await createTestDatabase();
  await original.handle.close();
  const tokenAddress = await onInstance(original.url, (platform) => holding(platform, tonnes));
  const copy = await createTestDatabase({ copyOf: original });
  await copy.handle.close();
  return { original, copy, tokenAddress, drop: () => Promise.all([original.drop(), copy.drop()]) };
}

/** Decides, as an operator, the one submission that is under review. */
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
  return decideSubmission(dependencies, 'operator', input);
}
