/**
 * Finds an account's deployments from the factory's events. Nodes keep events for a week, so older
 * deployments are not found.
 */
import { xdr } from '@stellar/stellar-sdk';
import { NetworkUnavailable, type Address } from '../port.ts';
import { readEvents } from './events.ts';
import type { StellarNode } from './node.ts';
import { plain } from './scvals.ts';

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
  const topics = [xdr.ScVal.scvSymbol('deployed').toXDR('base64'), '*'];
  const isComplete = await readEvents(node, { from: ledger, contract: factory, topics }, ({ value }) => {
    // (address, deployer, …)
    const [address, by] = asList(plain(value));
    if (typeof address === 'string' && by === deployer) found.push(address);
    return 'go on';
  });
  if (!isComplete)
    throw new NetworkUnavailable(`There are too many deploys since ledger ${ledger} to read them all`);
  return found;
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
