/**
 * deployRampSettlement: deploys the settlement contract, which holds receipt tokens during off-ramp sessions,
 * once per platform. The server uses the contract that RAMP_SETTLEMENT_ADDRESS names, so the operator sets
 * that afterwards.
 */
import { ne } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { requireById, updateById } from '../../db/findByIds.ts';
import { settlementDeployments } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { LedgerNetwork } from '../../ledger/network/port.ts';
import type { Effects, FoundOnNetwork, Intent } from '../../ledger/submission/effects.ts';
import { enqueueSubmission } from '../../ledger/submission/enqueue.ts';
import { awaitDeployed } from '../core/awaitState.ts';
import { deploySaltOf } from '../core/deploySalt.ts';
import type { Needs } from '../core/dependencies.ts';
import { reserveKey } from '../core/idempotency.ts';
import { requireAddress } from '../core/addresses.ts';
import { deployEffects } from '../core/deployEffects.ts';

type RecordNeeds = Needs<'db' | 'network' | 'clock' | 'ids' | 'saltKey'>;
type DeployNeeds = Needs<keyof RecordNeeds | 'stateSignal' | 'mutationWaitMs'>;

export type SettlementDeployment = typeof settlementDeployments.$inferSelect;

interface DeployRampSettlementInput {
  /** The address to which deposits are released when the payout is settled; custody when left out. */
  treasuryAddress?: string | null | undefined;
  idempotencyKey: string;
}

/**
 * @returns the deployment in the state reached when the wait ended.
 * @throws DomainError BAD_USER_INPUT, CONFLICT (the platform has one already), IDEMPOTENCY_CONFLICT,
 *   LEDGER_REFUSED; NetworkUnavailable
 */
export async function deployRampSettlement(
  deps: DeployNeeds,
  operatorId: string,
  input: DeployRampSettlementInput,
): Promise<SettlementDeployment> {
  const id = await record(deps, operatorId, input);
  const read = () => requireById(deps.db, settlementDeployments, id);
  return awaitDeployed(deps, id, read, 'The settlement contract');
}

async function record(
  deps: RecordNeeds,
  operatorId: string,
  input: DeployRampSettlementInput,
): Promise<string> {
  const asked = input.treasuryAddress ?? deps.network.custodyAddress;
  const treasuryAddress = requireAddress(deps, asked, 'input.treasuryAddress');
  const deploySalt = deploySaltOf(deps, 'ramp-settlement');
  // A deployed contract may not be in use: a restored database does not know it, or its address is not set
  // yet.
  const existing =
    (await deps.network.settlementContract()) ?? (await deps.network.findSettlement({ salt: deploySalt }));
  const id = deps.ids.next();
  const now = deps.clock.now();
  const request = {
    callerSubject: operatorId,
    operation: 'deployRampSettlement',
    key: input.idempotencyKey,
    input: { treasuryAddress },
  };
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, id);
    if (first !== null) return first;
    if (existing) throw alreadyDeployed(existing.address);
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
  const where =
    address === null ? 'is being deployed' : `is deployed at ${address}, for RAMP_SETTLEMENT_ADDRESS to name`;
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

export function settlementDeployEffects({ network }: Needs<'network'>): Effects {
  return { ...ROW_EFFECTS, findOnNetwork: (intent) => findDeployed(network, intent) };
}

/**
 * Finds the settlement contract that this database does not know, for example after a restore from an old
 * backup: beside a second contract, deposits into the first would not be seen. A contract with another
 * treasury can't be the outcome, because the row says where deposits go.
 */
async function findDeployed(
  network: Pick<LedgerNetwork, 'findSettlement'>,
  { call }: Intent,
): Promise<FoundOnNetwork | null> {
  if (call.kind !== 'deployRampSettlement') throw new Error(`deploy effects were asked about ${call.kind}`);
  const found = await network.findSettlement(call);
  if (found === null) return null;
  const { address: contractAddress, treasury } = found;
  return {
    evidence: `the settlement contract ${contractAddress} is deployed already, with the treasury ${treasury ?? 'unknown'}`,
    result: (treasury ?? call.treasury) === call.treasury ? { kind: 'deployed', contractAddress } : null,
  };
}

const ROW_EFFECTS = deployEffects({
  async setState(tx, id, state, stateReason) {
    await updateById(tx, settlementDeployments, id, { state, stateReason });
  },
  async deployed(tx, id, settlementAddress) {
    const settled = { state: 'DEPLOYED', settlementAddress, stateReason: null } as const;
    await updateById(tx, settlementDeployments, id, settled);
  },
});
