/**
 * The checks of `npm run ledger:check` for an EVM chain: node, factories, custody's funds and roles.
 */
import { randomUUID } from 'node:crypto';
import { formatEther, formatGwei, maxUint256 } from 'viem';
import { runCheck, pass, TRIAL_DEPLOY, TRIAL_HASH, warn, fail, type Check } from '../check.ts';
import { SignerShortOfFunds } from '../port.ts';
import type { NetworkCall } from '../port.ts';
import { MULTICALL3_ADDRESS } from './contracts.ts';
import type { ContractAddresses } from './contracts.ts';
import { readDeploymentFee } from './deploymentFee.ts';
import { estimateCall } from './draft.ts';
import { encodeCall } from './calls.ts';
import { largest } from '../../../lib/bigints.ts';
import { readErrorAbi } from './errorAbi.ts';
import { createFinality } from './finality.ts';
import type { Finality } from './finality.ts';
import { feeMarketOf, NO_BASE_FEE } from './fees.ts';
import { createJsonRpc, valueOf, valueOfOptional } from './jsonRpc.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { contractsOf } from './options.ts';
import type { EvmNetworkOptions } from './options.ts';
import { ask, quantityOf } from './node.ts';
import { createSigner } from './signing.ts';
import type { Signer } from './signing.ts';
import { refusalAt, simulationOf } from './simulation.ts';

interface CheckContext {
  options: EvmNetworkOptions;
  rpc: JsonRpc;
  finality: Finality;
  contracts: ContractAddresses;
  signer: Signer;
}

/** Gas of a retirement with a long note; other writes except deploys take less. */
const GAS_PER_WRITE = 300_000n;
/** Minimum writes that the signer's funds should pay for; below it, the signer should be funded now. */
const FEW_WRITES = 100n;
const FUND_IT = 'Send it some of the chain’s own coin.';

const UNWRITABLE = 'transactions';

/** @throws Error if the key or an address is invalid, or the file of errors can't be read */
export async function* checkEvmNetwork(options: EvmNetworkOptions): AsyncGenerator<Check> {
  const rpc = createJsonRpc({ url: options.rpcUrl, timeoutMs: options.requestTimeoutMs });
  const finality = createFinality(rpc, options.finality);
  const signer = createSigner(options.secretKey, options.chainId);
  const contracts = contractsOf(options, await readErrorAbi(options.errorAbiFile));
  const context = { options, rpc, finality, contracts, signer };
  const checks: [string, (context: CheckContext) => Promise<Check>][] = [
    ['batches', checkBatches],
    ['finality', checkFinality],
    ['first block', checkFirstBlock],
    ['multicall', checkMulticall],
    ['fees', checkFees],
    ['funds', checkFunds],
    ['deployment fee', checkDeploymentFee],
    ['token factory', checkFactory],
    ['settlement factory', checkSettlementFactory],
    ['settlement roles', checkRoles],
  ];
  for (const [name, run] of checks) {
    const check = await runCheck(name, () => run(context));
    yield check;
    // The factories can't be tried on a chain that does not take this kind of transaction.
    if (check.name === UNWRITABLE) return;
  }
}

async function checkBatches({ rpc }: CheckContext): Promise<Check> {
  await rpc.askTogether([ask.chainId(), ask.block('latest')]);
  if (!rpc.takesBatches()) {
    return warn(
      'batches',
      'the node answers one question at a time: all takes longer',
      'Use a node, or a plan of its provider, that takes JSON-RPC batches.',
    );
  }
  return pass('batches', 'the node answers several questions at once');
}

async function checkFinality({ options, finality }: CheckContext): Promise<Check> {
  const { final, latest } = await finality.pin();
  const setting =
    options.finality === 'finalized'
      ? 'by the chain’s own word'
      : `after ${options.finality.confirmations} further blocks`;
  return pass(
    'finality',
    `${setting}: block ${final.number}, ${latest.number - final.number} below the latest`,
  );
}

/**
 * identity.ts verifies that no factory is older, if the node has the state for that; this check shows whether
 * it has.
 */
async function checkFirstBlock({ options, rpc, contracts }: CheckContext): Promise<Check> {
  const { firstBlock } = options;
  const found = `the search for tokens begins with block ${firstBlock}`;
  if (firstBlock === 0n) return pass('first block', found);
  const [code] = await rpc.askEach([ask.code(contracts.factory, quantityOf(firstBlock - 1n))]);
  if (code !== undefined && 'value' in code) return pass('first block', found);
  return warn(
    'first block',
    `${found}, and the node has no older state to show whether a factory was there before`,
    'Compare LEDGER_FIRST_BLOCK with the blocks of the deployments of the factories, in a block explorer.',
  );
}

async function checkMulticall({ rpc }: CheckContext): Promise<Check> {
  const code = await rpc.ask(ask.code(MULTICALL3_ADDRESS, 'latest'));
  if (code !== '0x') return pass('multicall', MULTICALL3_ADDRESS);
  return warn(
    'multicall',
    `nothing stands at ${MULTICALL3_ADDRESS}: many tokens are read by batches of single calls`,
    'Nothing has to be done; Multicall3 makes large reads faster where it is deployed.',
  );
}

async function checkFees({ options, rpc }: CheckContext): Promise<Check> {
  const [block, tip] = await rpc.askTogether([ask.block('latest'), ask.priorityFee()]);
  const latest = valueOf(block);
  if (latest === null) return fail('fees', 'the node has no latest block');
  // Reported apart, because no fee cap fixes a chain without base fees.
  if (latest.baseFeePerGas === undefined) return fail(UNWRITABLE, NO_BASE_FEE.found, NO_BASE_FEE.remedy);
  const { baseFee, priorityFee } = feeMarketOf(latest, valueOfOptional(tip));
  const cap = options.maxFeePerGasCap;
  const found = `${formatGwei(baseFee)} gwei and a tip of ${formatGwei(priorityFee)}, under a cap of ${formatGwei(cap)}`;
  if (baseFee + priorityFee <= cap) return pass('fees', found);
  return fail(
    'fees',
    `${formatGwei(baseFee + priorityFee)} gwei, above the cap of ${formatGwei(cap)}: writes wait`,
  );
}

async function checkFunds({ options, rpc, signer }: CheckContext): Promise<Check> {
  const balance = await rpc.ask(ask.balance(signer.address, 'latest'));
  const writes = balance / (GAS_PER_WRITE * options.maxFeePerGasCap);
  const found = `${signer.address} has ${formatEther(balance)}, enough for ${writes} writes at the highest fee`;
  if (balance === 0n) return fail('funds', found, FUND_IT);
  return writes < FEW_WRITES ? warn('funds', found, FUND_IT) : pass('funds', found);
}

/** Takes the higher one of both factories' fees. */
async function checkDeploymentFee({ options, rpc, contracts }: CheckContext): Promise<Check> {
  const factories = [contracts.factory, contracts.settlementFactory].filter((address) => address !== null);
  const fees = await Promise.all(factories.map((address) => readDeploymentFee(rpc, address, 'latest')));
  const fee = largest(0n, ...fees);
  const { maxDeploymentFee: cap } = options;
  const found = `${formatEther(fee)} now, under a cap of ${formatEther(cap)}`;
  if (fee <= cap) return pass('deployment fee', found);
  return fail(
    'deployment fee',
    `${formatEther(fee)} now, above the cap of ${formatEther(cap)}: new projects and receipts are held for review`,
  );
}

async function checkFactory(context: CheckContext): Promise<Check> {
  const { factory } = context.contracts;
  return tryDeploy(context, TRIAL_DEPLOY, ({ gas, fee }) =>
    pass('token factory', `${factory} would deploy a token for ${gas} gas and a fee of ${formatEther(fee)}`),
  );
}

/**
 * Tries a deploy without the cap on its fee, which has its own check. A lack of funds says nothing about the
 * factory.
 */
async function tryDeploy(
  context: CheckContext,
  call: NetworkCall,
  would: (cost: { gas: bigint; fee: bigint }) => Check,
): Promise<Check> {
  try {
    const any = { ...context, maxDeploymentFee: maxUint256 };
    const { simulation, gas } = await estimateCall(any, call, context.signer.address);
    return would({ gas, fee: simulation.request.value ?? 0n });
  } catch (error) {
    if (error instanceof SignerShortOfFunds) return fail('funds', error.message, FUND_IT);
    throw error;
  }
}

async function checkSettlementFactory(context: CheckContext): Promise<Check> {
  const { settlementFactory } = context.contracts;
  if (settlementFactory === null) return pass('settlement factory', 'none is configured');
  const call: NetworkCall = {
    kind: 'deployRampSettlement',
    salt: TRIAL_HASH,
    treasury: context.signer.address,
  };
  return tryDeploy(context, call, () =>
    pass('settlement factory', `${settlementFactory} would deploy a settlement contract`),
  );
}

/**
 * Tries both calls with an unused reference: a signer without the role is refused for that, a signer with the
 * role because there is nothing to resolve.
 */
async function checkRoles({ rpc, contracts, signer }: CheckContext): Promise<Check> {
  const { settlement } = contracts;
  if (settlement === null) return pass('settlement roles', 'no settlement contract is configured');
  for (const kind of ['confirmOffRampSettlement', 'refundOffRamp'] as const) {
    const call: NetworkCall = { kind, sessionId: randomUUID() };
    const encoded = encodeCall(contracts, signer.address, call);
    const refusal = await refusalAt(rpc, simulationOf(encoded, signer.address), 'latest');
    if (refusal !== null && refusal.reason !== 'WRONG_STATUS') {
      return fail('settlement roles', `custody may not ${kind} at ${settlement}: ${refusal.message}`);
    }
  }
  return pass('settlement roles', 'custody may confirm and refund deposits');
}
