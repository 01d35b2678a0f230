/**
 * Deploys the test contracts: the factories, custody's settlement contract, and Multicall3 at its usual
 * address. Uses plain signed transactions, in any mining mode of the node.
 */
import { encodeDeployData, encodeFunctionData, getContractAddress, parseEventLogs } from 'viem';
import type { Abi, Address, Hex, Log } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Anvil, AnvilAccount } from './anvil.ts';
import { MULTICALL3_ADDRESS } from '../../src/ledger/network/evm/contracts.ts';
import { compileContracts } from './compile.ts';
import type { ContractName } from './compile.ts';

export interface DeployedContracts {
  factoryAddress: Address;
  settlementFactoryAddress: Address;
  settlementAddress: Address;
}

/** More than the largest contract needs; several such transactions fit into a block. */
const GAS = 7_000_000n;
const MAX_FEE_PER_GAS = 100n * 10n ** 9n;
/** Each block takes several transactions, so this number of blocks includes all. */
const MAX_BLOCKS = 20;

type Node = Pick<Anvil, 'rpc' | 'chainId'>;

export async function deployContracts(
  node: Node,
  options: {
    /** The account that pays for the deploys and owns the factory (`setDeploymentFee`). */
    deployer: AnvilAccount;
    /** The admin of the settlement contract, and its treasury. */
    custodyAddress: Address;
    /** False leaves Multicall3 out. */
    multicall?: boolean;
  },
): Promise<DeployedContracts> {
  const { deployer, custodyAddress } = options;
  const contracts = await compileContracts();
  const send = await createSender(node, deployer);
  const deploy = (name: ContractName, args: readonly unknown[] = []) =>
    send({ data: encodeDeployData({ abi: contracts[name].abi, bytecode: contracts[name].bytecode, args }) });

  const carbonCredit = await deploy('CarbonCreditToken');
  const commodityReceipt = await deploy('CommodityReceiptToken');
  const settlement = await deploy('RampSettlement');
  const factory = await deploy('TokenFactory', [carbonCredit.created, commodityReceipt.created]);
  const settlementFactory = await deploy('RampSettlementFactory', [settlement.created]);
  const { abi } = contracts.RampSettlementFactory;
  const args = [custodyAddress, custodyAddress];
  const deployed = await send({
    to: settlementFactory.created,
    data: encodeFunctionData({ abi, functionName: 'deployRampSettlement', args }),
  });
  if (options.multicall ?? true) {
    await node.rpc('anvil_setCode', [MULTICALL3_ADDRESS, contracts.Multicall3.deployedBytecode]);
  }
  const sent = [carbonCredit, commodityReceipt, settlement, factory, settlementFactory, deployed];
  const receipts = await landAll(
    node,
    sent.map(({ hash }) => hash),
  );
  return {
    factoryAddress: factory.created,
    settlementFactoryAddress: settlementFactory.created,
    settlementAddress: settlementOf(receipts.at(-1)?.logs ?? [], abi),
  };
}

interface Sent {
  hash: Hex;
  /** The address of the deployed contract. */
  created: Address;
}

/** Assigns the nonces here, so that no transaction waits for the one before it. */
async function createSender(node: Node, { secretKey }: AnvilAccount) {
  const account = privateKeyToAccount(secretKey);
  let nonce = Number(await node.rpc('eth_getTransactionCount', [account.address, 'pending']));
  return async (call: { to?: Address; data: Hex }): Promise<Sent> => {
    const created = getContractAddress({ from: account.address, nonce: BigInt(nonce) });
    const signed = await account.signTransaction({
      ...call,
      type: 'eip1559',
      chainId: node.chainId,
      nonce: nonce++,
      gas: GAS,
      maxFeePerGas: MAX_FEE_PER_GAS,
      maxPriorityFeePerGas: 10n ** 9n,
    });
    return { hash: (await node.rpc('eth_sendRawTransaction', [signed])) as Hex, created };
  };
}

interface Receipt {
  status: Hex;
  logs: Log[];
}

/** Mines blocks if the node does not mine them itself. */
async function landAll(node: Node, hashes: readonly Hex[]): Promise<Receipt[]> {
  for (let blocks = 0; blocks < MAX_BLOCKS; blocks++) {
    const receipts = await Promise.all(hashes.map((hash) => node.rpc('eth_getTransactionReceipt', [hash])));
    if (receipts.every((receipt) => receipt !== null)) return (receipts as Receipt[]).map(requireSuccess);
    await node.rpc('evm_mine');
  }
  throw new Error(`The test contracts were not deployed after ${MAX_BLOCKS} blocks`);
}

function requireSuccess(receipt: Receipt): Receipt {
  if (receipt.status !== '0x1') throw new Error('The deployment of a test contract was reverted');
  return receipt;
}

function settlementOf(logs: Log[], abi: Abi): Address {
  const [event] = parseEventLogs({ abi, logs, eventName: 'RampSettlementDeployed' });
  const { settlementAddress } = (event as { args?: { settlementAddress?: Address } } | undefined)?.args ?? {};
  if (!settlementAddress) throw new Error('The settlement factory emitted no event of a settlement contract');
  return settlementAddress;
}
