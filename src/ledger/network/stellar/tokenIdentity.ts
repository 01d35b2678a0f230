/**
 * Identifies the token at an address by the functions that it answers, as contracts carry no type.
 *
 * A token need not have a getter of the asset id's hash. It is read from a getter `asset_id` or the token's storage, and
 * otherwise from the factory's event of the deploy, as far back as the node keeps it.
 */
import { xdr } from '@stellar/stellar-sdk';
import { NetworkUnavailable } from '../port.ts';
import type { Address, Hash32, TokenTemplate } from '../port.ts';
import { isContract } from './addresses.ts';
import { FACTS } from './contractReads.ts';
import type { Answer, ContractReads } from './contractReads.ts';
import { isMissing, showError } from './hostErrors.ts';
import type { StellarNode } from './node.ts';
import { asHash32, asList, plain } from './scvals.ts';

/** A node searches some 10,000 ledgers per question; a week has 120,000. */
const MAX_EVENT_PAGES = 100;

interface IdentityDeps {
  node: StellarNode;
  reads: ContractReads;
  factoryAddress: Address;
}

export async function tokenAt(
  deps: IdentityDeps,
  address: Address,
): Promise<{ template: TokenTemplate; assetIdHash: Hash32 } | null> {
  if (!isContract(address) || !(await deps.reads.exists(address))) return null;
  const template = await templateOf(deps.reads, address);
  if (template === null) return null;
  const reported = await deps.reads.fact(address, FACTS.assetId);
  const assetIdHash =
    reported instanceof Uint8Array ? asHash32(reported, 'asset_id') : await hashInEvents(deps, address);
  if (assetIdHash === null) {
    throw new NetworkUnavailable(
      `The token ${address} does not show its asset id, and the node no longer remembers its deploy`,
    );
  }
  return { template, assetIdHash };
}

async function templateOf(reads: ContractReads, address: Address): Promise<TokenTemplate | null> {
  const [retirements, isExpired] = await Promise.all([
    reads.ask(address, 'total_retirements'),
    reads.ask(address, 'is_expired'),
  ]);
  if (hasFunction(retirements)) return 'carbon-credit';
  return hasFunction(isExpired) ? 'commodity' : null;
}

/** @throws NetworkUnavailable when the contract fails in a way that does not identify it */
function hasFunction(answer: Answer<xdr.ScVal>): boolean {
  if (answer.ok) return true;
  if (isMissing(answer.error)) return false;
  throw new NetworkUnavailable(`The contract does not answer: ${showError(answer.error)}`);
}

/** `("deployed", Template)` → `(token_address, deployer, asset_id, country_code)` */
async function hashInEvents(deps: IdentityDeps, address: Address): Promise<Hash32 | null> {
  const { node, factoryAddress } = deps;
  const topics = [xdr.ScVal.scvSymbol('deployed').toXDR('base64'), '*'];
  const { oldestLedger } = await node.ledgerState();
  // The node may drop its oldest ledger between two questions.
  let start: { ledger: bigint } | { cursor: string } = { ledger: oldestLedger + 1n };
  for (let page = 0; page < MAX_EVENT_PAGES; page += 1) {
    const { events, cursor } = await node.events({ start, contract: factoryAddress, topics });
    for (const { value } of events) {
      const [token, , assetId] = asList(plain(value), 'a deploy event');
      if (token === address) return asHash32(assetId, 'asset_id');
    }
    if (cursor === null || ('cursor' in start && cursor === start.cursor)) return null;
    start = { cursor };
  }
  return null;
}
