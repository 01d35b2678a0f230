/**
 * Channel accounts: which exist, and making the missing ones with custody's lumens.
 *
 * A channel only lends its sequence: it holds no tokens and may do nothing with custody's. Making one is a classic
 * CreateAccount, up to 100 in a transaction. It can be run again at any time: what exists is left as it is.
 */
import { Account, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';
import { NetworkUnavailable } from '../port.ts';
import type { Address } from '../port.ts';
import { readAccounts } from './accounts.ts';
import { inclusionFeeStroops } from './fees.ts';
import { assembleParts } from './parts.ts';
import type { StellarNetworkOptions } from './parts.ts';
import type { DraftingDeps } from './drafting.ts';
import { innermostCode } from './failures.ts';

/** What the network takes in one transaction. */
const MAX_OPERATIONS = 100;
/** Each round sees what the ones before it made; two batches and some bad luck need no more. */
const MAX_ROUNDS = 6;
const POLL_EVERY_MS = 1_000;
const STROOPS_PER_XLM = 10_000_000n;

export interface ChannelState {
  address: Address;
  /** Null when there is no such account yet. */
  balanceStroops: bigint | null;
}

export interface FundingOptions {
  startingBalanceStroops: bigint;
  /** Told before each transaction is sent, as custody's sequence is used up by it. */
  beforeSending: (sequenceUsed: bigint) => Promise<void>;
  wait: (milliseconds: number) => Promise<void>;
}

/** In the order of the configured keys. @throws NetworkUnavailable */
export async function readChannels(options: StellarNetworkOptions): Promise<ChannelState[]> {
  return statesOf(assembleParts(options));
}

/**
 * Makes the channels that do not exist.
 * @returns the addresses of those that were made
 * @throws Error when the network refuses it, NetworkUnavailable when it does not come to an end
 */
export async function fundChannels(
  options: StellarNetworkOptions,
  funding: FundingOptions,
): Promise<Address[]> {
  const deps = assembleParts(options);
  const missing = missingOf(await statesOf(deps));
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const left = missingOf(await statesOf(deps));
    if (left.length === 0) return missing;
    await createAccounts(deps, left.slice(0, MAX_OPERATIONS), funding);
  }
  throw new NetworkUnavailable(`Channels are still missing after ${MAX_ROUNDS} transactions; run it again`);
}

async function statesOf({ node, keys }: DraftingDeps): Promise<ChannelState[]> {
  const addresses = [...keys.sources.keys()].filter((address) => address !== keys.custody.publicKey());
  if (addresses.length === 0) return [];
  const { byAddress } = await readAccounts(node, addresses);
  return addresses.map((address) => ({
    address,
    balanceStroops: byAddress.get(address)?.balanceStroops ?? null,
  }));
}

function missingOf(states: readonly ChannelState[]): Address[] {
  return states.flatMap(({ address, balanceStroops }) => (balanceStroops === null ? [address] : []));
}

/** One transaction, followed until it landed, or can't any more: in both cases the next round sees what is there. */
async function createAccounts(
  deps: DraftingDeps,
  addresses: readonly Address[],
  { startingBalanceStroops, beforeSending, wait }: FundingOptions,
): Promise<void> {
  const { node, keys } = deps;
  const custody = keys.custody.publicKey();
  const [state, accounts, fee] = await Promise.all([
    node.ledgerState(),
    readAccounts(node, [custody]),
    inclusionFeeStroops(node, deps.maxInclusionFeeStroops),
  ]);
  const account = accounts.byAddress.get(custody);
  if (!account) throw new Error(`The custody account ${custody} does not exist: send it XLM first`);
  const validUntil = state.closedAt + BigInt(deps.validitySeconds);
  const builder = new TransactionBuilder(new Account(custody, String(account.sequence)), {
    fee: String(fee),
    networkPassphrase: deps.passphrase,
    timebounds: { minTime: 0, maxTime: String(validUntil) },
  });
  const startingBalance = showXlm(startingBalanceStroops);
  for (const destination of addresses) {
    builder.addOperation(Operation.createAccount({ destination, startingBalance }));
  }
  const transaction = builder.build();
  transaction.sign(keys.custody);
  await beforeSending(account.sequence + 1n);
  await seeThrough(deps, transaction, validUntil, wait);
}

/** @throws Error when it landed and failed, unless somebody else made one of the accounts meanwhile */
async function seeThrough(
  { node }: DraftingDeps,
  transaction: Transaction,
  validUntil: bigint,
  wait: FundingOptions['wait'],
): Promise<void> {
  const hash = transaction.hash().toString('hex');
  for (;;) {
    const answer = await node.transaction(hash);
    if (answer.status === 'SUCCESS') return;
    if (answer.status === 'FAILED') {
      const code = innermostCode(answer.result);
      if (code === 'createAccountAlreadyExist') return;
      throw new Error(`The network refused to make the channels: ${code}`);
    }
    if (answer.closedAt > validUntil) return;
    const { status, errorCode } = await node.send(transaction);
    if (status === 'ERROR' && (await node.transaction(hash)).status === 'NOT_FOUND') {
      throw new Error(`The node refused to make the channels: ${errorCode ?? 'it gives no reason'}`);
    }
    await wait(POLL_EVERY_MS);
  }
}

export function showXlm(stroops: bigint): string {
  const fraction = String(stroops % STROOPS_PER_XLM)
    .padStart(7, '0')
    .replace(/0+$/, '');
  return `${stroops / STROOPS_PER_XLM}${fraction === '' ? '' : `.${fraction}`}`;
}
