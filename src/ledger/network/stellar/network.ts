/**
 * A Stellar network behind the port, through one RPC node.
 *
 * The source of custody's transactions is custody itself or one of its channels; the caller assigns the
 * sequences (signing.ts, draft.ts). outcome.ts decides which transactions landed and which can't land any
 * more.
 */
import { WHOLE_HISTORY } from '../continuity.ts';
import type { Address, LedgerNetwork } from '../port.ts';
import { createSigningAccounts } from './accounts.ts';
import { deployedAddress, normalizeAddress } from './addresses.ts';
import { broadcastBytes } from './broadcast.ts';
import { mayBeDeployedBy, settlementFactory, tokenFactory, tokensDeployedSince } from './deployments.ts';
import type { Factory } from './deployments.ts';
import { draftCall, simulateCall } from './draft.ts';
import { createOutcomes } from './outcome.ts';
import { assembleParts } from './options.ts';
import type { StellarNetworkOptions } from './options.ts';
import { readRecords } from './records.ts';
import { retirementTransactions } from './retirementTransactions.ts';
import { createSettlementReads } from './settlementReads.ts';
import { createTokenReads } from './tokenReads.ts';
import { openSigned, prepareForHolder } from './wallets.ts';

/**
 * Asks the node nothing yet. @throws Error for invalid keys and addresses; the message never repeats a key
 */
export async function createStellarNetwork(options: StellarNetworkOptions): Promise<LedgerNetwork> {
  const deps = assembleParts(options);
  const { node, reads, contracts, keys, passphrase } = deps;
  const tokens = createTokenReads(reads);
  const { validitySeconds } = deps;
  const custody = keys.custody.publicKey();
  const mayBeOwn = (factory: Factory, contract: Address) =>
    mayBeDeployedBy(node, factory, { contract, deployer: custody });
  const accounts = createSigningAccounts(
    node,
    { configured: [...keys.sources.keys()], validitySeconds },
    (message) => options.log?.warn(message),
  );

  return {
    name: options.name,
    networkId: passphrase,
    custodyAddress: custody,
    normalizeAddress,
    status: async () => {
      const { latestLedger: ledger, closedAt, oldestLedger } = await node.ledgerState();
      return { ledger, closedAt, oldestLedger };
    },
    ...WHOLE_HISTORY,
    signingOrder: accounts.order,
    nextSequences: accounts.nextSequences,
    draft: (call) => draftCall(deps, call),
    broadcast: (signedBytes) => broadcastBytes({ ...deps, log: options.log }, signedBytes),
    outcome: createOutcomes(deps, options.elapsedMs ?? (() => performance.now())),
    replace: async () => null,
    prepareForHolder: (call, holder) => prepareForHolder(deps, call, holder),
    openSigned: (call, unsigned, signed) => openSigned(deps, call, unsigned, signed),
    async findToken({ salt }) {
      const address = deployedAddress(passphrase, contracts.factoryAddress, salt);
      if (!(await reads.exists(address))) return null;
      return (await mayBeOwn(tokenFactory(contracts.factoryAddress), address)) ? address : null;
    },
    tokensDeployedSince: (ledger) =>
      tokensDeployedSince(node, {
        factory: contracts.factoryAddress,
        deployer: custody,
        ledger,
      }),
    ...tokens,
    retirementRecords: (token, from, limit) => readRecords({ node, reads, ...tokens }, token, from, limit),
    retirementTransactions: (token, wanted) => retirementTransactions({ node, passphrase }, token, wanted),
    ...createSettlementReads(reads, contracts, (factory, found) =>
      mayBeOwn(settlementFactory(factory), found),
    ),
    depositsNeedAllowance: false,
    async checkDeposit(call, depositor) {
      await simulateCall(deps, call, depositor);
    },
  };
}
