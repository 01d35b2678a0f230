/**
 * Reads deployments from a factory's events. Nodes keep events for a week, so older deployments are not found.
 */
import { xdr } from '@stellar/stellar-sdk';
import { largest } from '../../../lib/bigints.ts';
import { nullFor } from '../../../lib/errors.ts';
import { NetworkUnavailable, type Address } from '../port.ts';
import { LEDGERS_READ, readEvents } from './events.ts';
import { MethodMissing } from './node.ts';
import type { StellarNode } from './node.ts';
import { plain } from './scvals.ts';

export interface Factory {
  address: Address;
  /** The topics of its events. */
  topics: string[];
}

const DEPLOYED = xdr.ScVal.scvSymbol('deployed').toXDR('base64');

/** The second topic is the template. */
export const tokenFactory = (address: Address): Factory => ({ address, topics: [DEPLOYED, '*'] });

export const settlementFactory = (address: Address): Factory => ({ address, topics: [DEPLOYED] });

export async function tokensDeployedSince(
  node: StellarNode,
  { factory, deployer, ledger: since }: { factory: Address; deployer: Address; ledger: bigint | null },
): Promise<Address[]> {
  const { oldestLedger, latestLedger } = await node.ledgerState();
  const ledger = since ?? oldestLedger;
  if (ledger < oldestLedger)
    throw new NetworkUnavailable(
      `The Stellar node has events since ledger ${oldestLedger}, not since ${ledger}`,
    );
  // The node is behind, because the ledger that was asked about has closed.
  if (ledger > latestLedger + 1n)
    throw new NetworkUnavailable(`The Stellar node is at ledger ${latestLedger}, not at ${ledger} yet`);
  if (ledger > latestLedger) return [];
  const found: Address[] = [];
  const isComplete = await readDeployments(node, tokenFactory(factory), ledger, (address, by) => {
    if (by === deployer) found.push(address);
    return 'go on';
  });
  if (!isComplete) throw tooManyDeploys(ledger);
  return found;
}

/**
 * Whether the account may have deployed the contract: no event of the last ten days that the node has names
 * another deployer. A deployment shows its salt before it lands, so a stranger can use the salt first and be
 * the admin of what stands there.
 * @throws NetworkUnavailable, also if there are more events than are read: a stranger could hide one behind them
 */
export async function mayBeDeployedBy(
  node: StellarNode,
  factory: Factory,
  { contract, deployer }: { contract: Address; deployer: Address },
): Promise<boolean> {
  const { oldestLedger, latestLedger } = await node.ledgerState();
  // One ledger later, because the node may drop its oldest ledger between two questions.
  const from = largest(oldestLedger + 1n, latestLedger - LEDGERS_READ);
  let shown = deployer;
  const isComplete = await readDeployments(node, factory, from, (address, by) => {
    if (address !== contract) return 'go on';
    shown = by;
    return 'enough';
  }).catch(nullFor(MethodMissing));
  if (isComplete === false) throw tooManyDeploys(from);
  return shown === deployer;
}

function tooManyDeploys(since: bigint): NetworkUnavailable {
  return new NetworkUnavailable(`There are too many deploys since ledger ${since} to read them all`);
}

function readDeployments(
  node: StellarNode,
  { address: contract, topics }: Factory,
  from: bigint,
  visit: (address: Address, deployer: Address) => 'go on' | 'enough',
): Promise<boolean> {
  return readEvents(node, { from, contract, topics }, ({ value }) => {
    // (address, deployer, …)
    const [address, deployer] = [plain(value)].flat();
    return typeof address === 'string' && typeof deployer === 'string' ? visit(address, deployer) : 'go on';
  });
}
