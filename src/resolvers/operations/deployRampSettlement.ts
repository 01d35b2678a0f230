/**
 * deployRampSettlement: the settlement contract that holds receipt tokens during off-ramp sessions, deployed once per
 * platform. The server works with the one that RAMP_SETTLEMENT_ADDRESS names, so the operator sets that afterwards.
 */
import { createHmac } from 'node:crypto';
import { eq, ne } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { settlementDeployments } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Effects } from '../../ledger/submission/effects.ts';
import { enqueueSubmission } from '../../ledger/submission/enqueue.ts';
import { NEW_SUBMISSION } from '../../ledger/submission/submission.ts';
import { awaitState } from '../core/awaitState.ts';
import type { Needs } from '../core/dependencies.ts';
import { reserveKey } from '../core/idempotency.ts';
import { readRefusalReason } from '../core/refusalReason.ts';
import { deployEffects } from '../core/deployEffects.ts';

type RecordNeeds = Needs<'db' | 'network' | 'clock' | 'ids' | 'saltKey'>;
type DeployNeeds = Needs<keyof RecordNeeds | 'stateSignal' | 'mutationWaitMs'>;

export type SettlementDeployment = typeof settlementDeployments.$inferSelect;

interface DeployRampSettlementInput {
  /** Where deposits are released to when the payout is settled; custody when left out. */
  treasury?: string | null | undefined;
  idempotencyKey: string;
}

/**
 * @returns the deployment in the state reached when the wait ended.
 * @throws DomainError BAD_USER_INPUT, CONFLICT (the platform has one already), IDEMPOTENCY_CONFLICT, LEDGER_REFUSED;
 * NetworkUnavailable
 */
export async function deployRampSettlement(
  deps: DeployNeeds,
  operatorId: string,
  input: DeployRampSettlementInput,
): Promise<SettlementDeployment> {
  const id = await record(deps, operatorId, input);
  deps.stateSignal.notify(NEW_SUBMISSION);
  const deployment = await awaitState(
    deps,
    id,
    () => requireDeployment(deps, id),
    ({ state }) => state !== 'DEPLOYING',
  );
  if (deployment.state === 'REFUSED') {
    throw new DomainError(
      'LEDGER_REFUSED',
      `The settlement contract was refused: ${deployment.refusalMessage}`,
      { reason: await readRefusalReason(deps, id) },
    );
  }
  return deployment;
}

async function record(
  deps: RecordNeeds,
  operatorId: string,
  input: DeployRampSettlementInput,
): Promise<string> {
  const treasuryAddress = deps.network.normalizeAddress(input.treasury ?? deps.network.custodyAddress);
  if (treasuryAddress === null) {
    throw new DomainError(
      'BAD_USER_INPUT',
      `"${input.treasury}" is not an address of the network "${deps.network.name}".`,
      { field: 'input.treasury' },
    );
  }
  const inUse = await deps.network.settlementContract();
  const id = deps.ids.next();
  const now = deps.clock.now();
  const request = {
    callerSubject: operatorId,
    operation: 'deployRampSettlement',
    key: input.idempotencyKey,
    input: { treasuryAddress },
  };
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, id, now);
    if (first !== null) return first;
    if (inUse) throw alreadyDeployed(inUse.address);
    const deploySalt = `0x${createHmac('sha256', deps.saltKey).update('ramp-settlement').digest('hex')}`;
    const [inserted] = await tx
      .insert(settlementDeployments)
      .values({
        id,
        state: 'DEPLOYING',
        treasuryAddress,
        deploySalt,
        requestedBy: operatorId,
        createdAt: now,
      })
      .onConflictDoNothing()
      .returning();
    if (!inserted) throw alreadyDeployed(await addressOfLive(tx));
    await enqueueSubmission(tx, deps, {
      targetType: 'SETTLEMENT_DEPLOYMENT',
      targetId: id,
      call: { kind: 'deployRampSettlement', salt: deploySalt, treasury: treasuryAddress },
    });
    return id;
  });
}

function alreadyDeployed(address: string | null): DomainError {
  const where = address === null ? 'is being deployed' : `is deployed at ${address}`;
  return new DomainError('CONFLICT', `A settlement contract ${where}; a platform has only one.`, {
    settlementAddress: address,
  });
}

async function addressOfLive(tx: Tx): Promise<string | null> {
  const [live] = await tx
    .select({ address: settlementDeployments.settlementAddress })
    .from(settlementDeployments)
    .where(ne(settlementDeployments.state, 'REFUSED'));
  return live?.address ?? null;
}

async function requireDeployment(deps: Needs<'db'>, id: string): Promise<SettlementDeployment> {
  const [deployment] = await deps.db
    .select()
    .from(settlementDeployments)
    .where(eq(settlementDeployments.id, id));
  if (!deployment) throw new Error(`settlement deployment ${id} has vanished`);
  return deployment;
}

export const settlementDeployEffects: Effects = deployEffects({
  async setState(tx, id, state, refusalMessage) {
    await tx
      .update(settlementDeployments)
      .set({ state, refusalMessage })
      .where(eq(settlementDeployments.id, id));
  },
  async deployed(tx, id, { address, txHash }) {
    await tx
      .update(settlementDeployments)
      .set({ state: 'DEPLOYED', settlementAddress: address, txHash, refusalMessage: null })
      .where(eq(settlementDeployments.id, id));
  },
});
