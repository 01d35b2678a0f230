/**
 * Reads channel accounts, creates missing ones with custody's lumens, and tops up those with too little.
 *
 * A channel lends its sequence and pays fees: it holds no tokens and has no rights over custody's. It is
 * created by a classic CreateAccount and funded by a Payment, up to 100 per transaction. The command can be
 * repeated, because it first reads which channels exist.
 */
import { Account, Asset, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';
import { NetworkUnavailable } from '../port.ts';
import type { ChannelState, FundingOptions } from '../channelAccounts.ts';
import type { Address } from '../port.ts';
import { readAccounts } from './accounts.ts';
import { inclusionFeeStroops } from './fees.ts';
import { showXlm } from './lumens.ts';
import { assembleParts } from './options.ts';
import type { StellarNetworkOptions } from './options.ts';
import type { DraftingDeps } from './draft.ts';
import { innermostCode } from './failures.ts';
import { signTransaction } from './signing.ts';

/** The network's limit of operations per transaction. */
const MAX_OPERATIONS = 100;
/** Each round reads the results of earlier ones; two batches with retries need no more rounds. */
const MAX_ROUNDS = 6;
const POLL_EVERY_MS = 1_000;
/** Longer than the time bounds; after so many polls, a network that stands still is no longer waited for. */
const MAX_POLLS = 300;

/** A channel that needs lumens, and the amount. */
interface Need {
  address: Address;
  isMissing: boolean;
  stroops: bigint;
}

/** In the order of the configured keys. @throws NetworkUnavailable */
export async function readChannels(options: StellarNetworkOptions): Promise<ChannelState[]> {
  return statesOf(assembleParts(options));
}

/**
 * Creates missing channels, and tops up those with too little.
 * @returns the addresses of both
 * @throws Error if the network refuses it, NetworkUnavailable if it does not finish
 */
export async function fundChannels(
  options: StellarNetworkOptions,
  funding: FundingOptions,
): Promise<Address[]> {
  const deps = assembleParts(options);
  const needs = needsOf(await statesOf(deps), funding);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const left = needsOf(await statesOf(deps), funding);
    if (left.length === 0) return needs.map(({ address }) => address);
    await giveTo(deps, left.slice(0, MAX_OPERATIONS), funding);
  }
  throw new NetworkUnavailable(
    `Channels are still missing or short after ${MAX_ROUNDS} transactions; run it again`,
  );
}

async function statesOf({ node, keys }: DraftingDeps): Promise<ChannelState[]> {
  const addresses = [...keys.sources.keys()].filter((address) => address !== keys.custody.publicKey());
  if (addresses.length === 0) return [];
  const { byAddress } = await readAccounts(node, addresses);
  return addresses.map((address) => ({
    address,
    balanceStroops: byAddress.get(address)?.balanceStroops ?? null,
    spendableStroops: byAddress.get(address)?.spendableStroops ?? 0n,
  }));
}

function needsOf(states: readonly ChannelState[], funding: FundingOptions): Need[] {
  const { startingBalanceStroops: wanted, topUpBelowStroops = 0n } = funding;
  return states
    .filter(({ balanceStroops: has }) => has === null || has < topUpBelowStroops)
    .map(({ address, balanceStroops: has }) => ({
      address,
      isMissing: has === null,
      stroops: wanted - (has ?? 0n),
    }));
}

/**
 * Sends one transaction, and follows it until it landed or can't land any more. The next round reads the
 * result.
 */
async function giveTo(
  deps: DraftingDeps,
  needs: readonly Need[],
  { beforeSending, wait }: FundingOptions,
): Promise<void> {
  const { node, keys } = deps;
  const custody = keys.custody.publicKey();
  const [state, accounts, fee] = await Promise.all([
    node.presentState(),
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
  for (const { address: destination, isMissing, stroops } of needs) {
    const amount = showXlm(stroops);
    builder.addOperation(
      isMissing
        ? Operation.createAccount({ destination, startingBalance: amount })
        : Operation.payment({ destination, amount, asset: Asset.native() }),
    );
  }
  const transaction = builder.build();
  signTransaction(transaction, [keys.custody]);
  await beforeSending(account.sequence + 1n);
  await seeThrough(deps, transaction, validUntil, wait);
}

/** @throws Error if it landed and failed, unless another transaction created one of the accounts meanwhile */
async function seeThrough(
  { node }: DraftingDeps,
  transaction: Transaction,
  validUntil: bigint,
  wait: FundingOptions['wait'],
): Promise<void> {
  const hash = transaction.hash().toString('hex');
  for (let poll = 0; poll < MAX_POLLS; poll += 1) {
    const answer = await node.transaction(hash);
    if (answer.status === 'SUCCESS') return;
    if (answer.status === 'FAILED') {
      const code = innermostCode(answer.result);
      if (code === 'createAccountAlreadyExist') return;
      throw new Error(`The network refused to fund the channels: ${code}`);
    }
    if (answer.closedAt > validUntil) return;
    const { status, errorCode } = await node.send(transaction);
    if (status === 'ERROR' && (await node.transaction(hash)).status === 'NOT_FOUND') {
      throw new Error(`The node refused to fund the channels: ${errorCode ?? 'it gives no reason'}`);
    }
    await wait(POLL_EVERY_MS);
  }
  throw new NetworkUnavailable(`The transaction ${hash} did not come to an end; run it again later`);
}
