/**
 * Holders of keys on a test chain. They call the test contracts by their documented interface, without the
 * product.
 */
import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  createWalletClient,
  defineChain,
  http,
  keccak256,
  parseEventLogs,
  stringToBytes,
  zeroAddress,
} from 'viem';
import type { Abi, Address, Hex, TransactionReceipt } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Anvil, AnvilAccount } from '../../../devnet/evm/anvil.ts';
import { deployContracts } from '../../../devnet/evm/deploy.ts';
import {
  carbonTokenAbi,
  commodityTokenAbi,
  erc20ErrorsAbi,
  factoryAbi,
  guardedAbi,
  settlementAbi,
} from '../../../devnet/evm/referenceAbi.ts';

export const TONNE = 10n ** 18n;
export const carbonAbi = [...carbonTokenAbi, ...guardedAbi, ...erc20ErrorsAbi];
export const receiptAbi = [...commodityTokenAbi, ...guardedAbi, ...erc20ErrorsAbi];
export const rampAbi = [...settlementAbi, ...guardedAbi, ...erc20ErrorsAbi];

/** A node on this machine has the receipt of a transaction within moments. */
const POLL_MS = 20;
/**
 * A busy anvil sometimes forgets to close the block of a transaction; after this time the test asks for a
 * block.
 */
const BLOCK_OVERDUE_MS = 2000;

export const CARBON_METADATA = {
  creditType: 'VCU',
  verificationBodyRef: 'VERRA-1',
  vintageYear: 2024n,
  quantityCO2e: 10n * TONNE,
  projectLocation: 'Lamu',
  projectType: 'Blue carbon',
  verificationDocHash: hashText('document'),
  lastUpdated: 1_700_000_000n,
} as const;

interface ContractCall {
  address: Address;
  abi: Abi;
  functionName: string;
  args?: readonly unknown[];
  value?: bigint;
}

export type Actors = Awaited<ReturnType<typeof createActors>>;

/** Deploys the contracts on the node: `deployer` pays, `custody` is admin, `holder` has no role. */
export async function createActors(node: Anvil) {
  const [deployer, custody, holder] = node.accounts;
  if (!custody || !holder) throw new Error('The node needs three accounts');
  const contracts = await deployContracts(node, { deployer, custodyAddress: custody.address });
  const chain = defineChain({
    id: node.chainId,
    name: 'anvil',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [node.url] } },
  });
  const client = createPublicClient({ chain, transport: http(), pollingInterval: POLL_MS });

  /** Simulates the call first, because a node explains a refusal only there. @throws viem's BaseError */
  async function send(from: AnvilAccount, call: ContractCall): Promise<TransactionReceipt> {
    const account = privateKeyToAccount(from.secretKey);
    const { request } = await client.simulateContract({ ...call, account });
    const wallet = createWalletClient({ chain, transport: http(), account });
    const hash = await wallet.writeContract(request);
    const receipt = await landed(node, client.waitForTransactionReceipt({ hash }));
    if (receipt.status !== 'success') throw new Error(`${call.functionName} was reverted in ${hash}`);
    return receipt;
  }

  return { node, contracts, client, deployer, custody, holder, send };
}

async function landed<T>(node: Anvil, receipt: Promise<T>): Promise<T> {
  const timer = setInterval(() => void node.rpc('evm_mine').catch(() => {}), BLOCK_OVERDUE_MS);
  try {
    return await receipt;
  } finally {
    clearInterval(timer);
  }
}

export function deployCarbon(actors: Actors, options: { factory?: Address; value?: bigint } = {}) {
  const { custody, contracts } = actors;
  return actors.send(custody, {
    address: options.factory ?? contracts.factoryAddress,
    abi: factoryAbi,
    functionName: 'deployCarbonCreditToken',
    args: ['Mangroves', 'MNG', hashText('asset'), 'KE', custody.address, zeroAddress, CARBON_METADATA],
    ...(options.value === undefined ? {} : { value: options.value }),
  });
}

export async function deployReceipt(actors: Actors, options: { expiresInSeconds: number }) {
  const { client, custody, contracts } = actors;
  const { timestamp } = await client.getBlock();
  const metadata = {
    commodityType: 'Maize',
    quantityKg: 1000n,
    gradeClassification: 'Grade 1',
    warehouseId: 'warehouse-1',
    warehouseLocation: 'Nakuru',
    depositDate: timestamp,
    expiryDate: timestamp + BigInt(options.expiresInSeconds),
    inspectionReportHash: hashText('report'),
    valuationUSD: 400n * TONNE,
    harvestSeason: '2024',
    lastUpdated: timestamp,
  };
  return actors.send(custody, {
    address: contracts.factoryAddress,
    abi: factoryAbi,
    functionName: 'deployCommodityReceiptToken',
    args: ['Maize', 'MZE', hashText('receipt'), 'KE', custody.address, zeroAddress, metadata],
  });
}

/** Returns the factory's event about the token that it made. */
export function tokenOf(receipt: TransactionReceipt) {
  const [event] = parseEventLogs({ abi: factoryAbi, logs: receipt.logs, eventName: 'TokenDeployed' });
  if (!event) throw new Error('No token was deployed');
  return event.args;
}

/** Deploys a carbon token with this many tonnes, custody's by default. */
export async function mintedCarbon(actors: Actors, tonnes: bigint, to: Address = actors.custody.address) {
  const { tokenAddress } = tokenOf(await deployCarbon(actors));
  const at = { address: tokenAddress, abi: carbonAbi };
  await actors.send(actors.custody, { ...at, functionName: 'mint', args: [to, tonnes * TONNE] });
  return at;
}

/**
 * Returns the contract's error by its name, or its bare selector or a word when the ABI does not know the
 * error.
 */
export async function refusalOf(
  work: () => Promise<unknown>,
): Promise<{ name: string; args: readonly unknown[] } | string> {
  try {
    await work();
  } catch (error) {
    const reverted = error instanceof BaseError ? error.walk(isRevert) : null;
    if (!(reverted instanceof ContractFunctionRevertedError)) throw error;
    const { data, signature } = reverted;
    return data ? { name: data.errorName, args: data.args ?? [] } : (signature ?? 'without a reason');
  }
  throw new Error('Nothing was refused');
}

export function hashText(text: string): Hex {
  return keccak256(stringToBytes(text));
}

function isRevert(error: unknown): boolean {
  return error instanceof ContractFunctionRevertedError;
}
