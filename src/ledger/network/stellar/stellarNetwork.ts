/**
 * A Stellar network behind the port: the contracts of the interface, spoken to through one RPC node.
 *
 * What custody does goes out in transactions whose source is custody itself or one of its channels; the caller
 * owns the sequences (signing.ts, drafting.ts). What landed, and what can't any more, is told by outcomes.ts.
 */
import { NetworkUnavailable } from '../port.ts';
import type { Address, Hash32, LedgerNetwork, NetworkCall } from '../port.ts';
import { readNextSequences } from './accounts.ts';
import { deployedAddress, hashText, normalizeAddress } from './addresses.ts';
import { broadcastBytes, outbidLatest } from './broadcasting.ts';
import { draftCall, simulateCall } from './drafting.ts';
import { outcomeOf } from './outcomes.ts';
import { assembleParts } from './parts.ts';
import type { StellarNetworkOptions } from './parts.ts';
import { readRecords } from './records.ts';
import { UnexpectedValue } from './scvals.ts';
import { createSettlementReads } from './settlementReads.ts';
import { tokenAt } from './tokenIdentity.ts';
import { createTokenReads } from './tokenReads.ts';
import { openSigned, prepareForHolder } from './wallets.ts';

export type { StellarNetworkOptions } from './parts.ts';

/**
 * Asks nothing of the node yet.
 * @throws Error for keys and addresses that are none; it never repeats a key
 */
export async function createStellarNetwork(options: StellarNetworkOptions): Promise<LedgerNetwork> {
  const deps = assembleParts(options);
  const { node, reads, contracts, keys, passphrase } = deps;
  const tokens = createTokenReads(reads);
  const settlement = createSettlementReads(reads, contracts.settlementAddress);
  const accounts = [...keys.sources.keys()];
  const predictTokenAddress = (salt: Hash32) => deployedAddress(passphrase, contracts.factoryAddress, salt);

  async function findToken({ salt }: { salt: Hash32 }): Promise<Address | null> {
    const address = predictTokenAddress(salt);
    return (await reads.exists(address)) ? address : null;
  }

  async function checkDeposit(call: NetworkCall, depositor: Address): Promise<void> {
    await simulateCall(deps, call, depositor, undefined);
  }

  return {
    name: options.name,
    networkId: passphrase,
    custodyAddress: keys.custody.publicKey(),
    normalizeAddress,
    status: async () => {
      const { latestLedger: ledger, closedAt, oldestLedger } = await node.ledgerState();
      return { ledger, closedAt, oldestLedger };
    },
    // The network takes one waiting transaction per account.
    signingOrder: { accounts, maxOpenPerAccount: 1 },
    nextSequences: () => understood(readNextSequences(node, accounts)),
    draft: (call) => understood(draftCall(deps, call)),
    broadcast: (signedBytes) => understood(broadcastBytes(deps, signedBytes)),
    outcome: (sent) => understood(outcomeOf(deps, sent)),
    outbid: (latest) => understood(outbidLatest({ ...deps, custody: keys.custody }, latest)),
    prepareForHolder: (call, holder) => understood(prepareForHolder(deps, call, holder)),
    openSigned: (call, unsigned, signed) => understood(openSigned(deps, call, unsigned, signed)),
    tokenAt: (address) =>
      understood(tokenAt({ node, reads, factoryAddress: contracts.factoryAddress }, address)),
    hashAssetId: hashText,
    predictTokenAddress,
    findToken: (deployed) => understood(findToken(deployed)),
    carbonTotals: async (token) => (await understood(tokens.carbonTotals(token))).totals,
    retirementRecords: (token, from, limit) => understood(readRecords({ node, tokens }, token, from, limit)),
    retirementCountsOf: (addresses) => understood(tokens.retirementCountsOf(addresses)),
    totalSupply: (token) => understood(tokens.totalSupply(token)),
    balanceOf: (token, holder) => understood(tokens.balanceOf(token, holder)),
    expiryOf: (addresses) => understood(tokens.expiryOf(addresses)),
    settlementContract: () => understood(settlement.settlementContract()),
    offRampDeposit: (sessionId) => understood(settlement.offRampDeposit(sessionId)),
    depositsNeedApproval: false,
    checkDeposit: (call, depositor) => understood(checkDeposit(call, depositor)),
  };
}

/** A contract that answers in another form than promised tells nothing. */
async function understood<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof UnexpectedValue)) throw error;
    throw new NetworkUnavailable(`A contract's answer is not understood: ${error.message}`, { cause: error });
  }
}
