/**
 * Transactions that land without effect, each after its fee was raised. A paid failure counts once for each
 * slot, with the cause of the transaction that landed, however many were signed for the slot.
 */
import { randomBytes } from 'node:crypto';
import { asc, eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { attempts, submissions } from '../../../src/db/tables/index.ts';
import type { LedgerNetwork, SentTransaction } from '../../../src/ledger/network/port.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { instancesOn } from '../../support/onInstance.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { holding, retirement } from '../../support/holding.ts';

let world: EvmWorld;
beforeAll(async () => {
  world = await startEvmWorld();
});
afterAll(() => world.close());

const onInstance = instancesOn(() => world);

const CAUSE = 'out of gas';

const randomHash = () => `0x${randomBytes(32).toString('hex')}`;

/**
 * Replaces each transaction `replacements` times. The last one lands without effect, and takes the slot from
 * the others.
 */
function landingInVain(network: LedgerNetwork, replacements: number): LedgerNetwork {
  const replacedBy = new Map<string, string>();
  const rank = new Map<string, number>();
  const lastOf = (hash: string): string => {
    const next = replacedBy.get(hash);
    return next === undefined ? hash : lastOf(next);
  };
  return {
    ...network,
    // No transaction is really sent, so the nonce stays unused and is signed for again.
    async draft(call) {
      const { sign } = await network.draft(call);
      return { sign: async (slot) => ({ ...(await sign(slot)), hash: randomHash() }) };
    },
    broadcast: async () => ({ status: 'accepted' }),
    async replace(latest) {
      const place = (rank.get(latest.hash) ?? 0) + 1;
      if (place > replacements) return null;
      const hash = randomHash();
      replacedBy.set(latest.hash, hash);
      rank.set(hash, place);
      return { ...latest, hash };
    },
    async outcome({ hash }: SentTransaction) {
      const usedBy = lastOf(hash);
      if ((rank.get(usedBy) ?? 0) < replacements) return { status: 'pending' };
      if (usedBy === hash) return { status: 'dead', proof: `${hash} landed without effect`, cause: CAUSE };
      return { status: 'dead', proof: `its nonce was used by ${usedBy}`, usedBy };
    },
  };
}

it.each([0, 1])('go to review after three slots of %i replacements', async (replacements) => {
  const database = await createTestDatabase();
  await database.handle.close();
  const tokenAddress = await onInstance(database.url, (platform) => holding(platform, 10n));
  await onInstance(
    database.url,
    async ({ dependencies, handle: { db } }) => {
      const { id } = await retire(dependencies, 'acme', retirement(tokenAddress, 4n));
      const [submission] = await db.select().from(submissions).where(eq(submissions.targetId, id));
      expect(submission).toMatchObject({ state: 'NEEDS_REVIEW', reviewCause: 'ATTEMPTS_DIED' });
      expect(submission?.stateReason).toContain(CAUSE);
      const made = await db
        .select()
        .from(attempts)
        .where(eq(attempts.submissionId, submission?.id ?? ''))
        .orderBy(asc(attempts.number));
      expect(made.filter(({ replaces }) => replaces === null)).toHaveLength(3);
      expect(made).toHaveLength(3 * (replacements + 1));
      // The landed transaction is not described as replaced by itself.
      expect(made.at(-1)?.evidence).toContain('landed without effect');
    },
    { adapt: (network) => landingInVain(network, replacements) },
  );
  await database.drop();
});
