/**
 * `npm run dev:evm`: the whole product on a real EVM chain on this machine: anvil, with a block each second.
 */
import pc from 'picocolors';
import { runDev } from '../dev.ts';
import type { DevFamily } from '../dev.ts';
import { isPortTaken, startAnvil } from './anvil.ts';
import type { Anvil } from './anvil.ts';
import { deployContracts } from './deploy.ts';
import { startEvmIndexer } from './indexer.ts';

/** The port at which wallets look for a local node. */
const DEFAULT_RPC_PORT = 8545;
const SECONDS_PER_BLOCK = 1;
/** This chain has no reorganisations. LEDGER_FINALITY=finalized tests waiting for finality. */
const DEFAULT_CONFIRMATIONS = '0';
/** The `finalized` block is two behind the latest. After a third block, it has the new time as well. */
const BLOCKS_UNTIL_FINAL = 3;

const open: DevFamily['open'] = async ({ rpcPort, log, stops, environment }) => {
  const node = await startAnvil({ port: rpcPort, mining: { everySeconds: SECONDS_PER_BLOCK } });
  stops.push(node.stop);
  const [deployer, custody, holder] = node.accounts;
  if (!custody || !holder) throw new Error('The node has too few accounts');
  log.info('deploying the contracts (they are compiled first, if they were not yet)');
  const contracts = await deployContracts(node, { deployer, custodyAddress: custody.address });
  const onError = (message: string, err: unknown) => log.warn({ err }, message);
  const indexer = await startEvmIndexer(node, onError);
  stops.push(indexer.stop);
  return {
    settings: {
      LEDGER_NETWORK: 'evm',
      LEDGER_RPC_URL: node.url,
      LEDGER_CHAIN_ID: String(node.chainId),
      LEDGER_SECRET_KEY: custody.secretKey,
      LEDGER_FACTORY_ADDRESS: contracts.factoryAddress,
      LEDGER_SETTLEMENT_FACTORY_ADDRESS: contracts.settlementFactoryAddress,
      RAMP_SETTLEMENT_ADDRESS: contracts.settlementAddress,
      LEDGER_FINALITY: environment['LEDGER_FINALITY'] ?? DEFAULT_CONFIRMATIONS,
      INDEXER_URL: indexer.url,
    },
    advanceClock: (seconds) => advanceClock(node, seconds),
    facts: [
      ['Node', `${pc.cyan(node.url)}  chain id ${node.chainId}, a block every ${SECONDS_PER_BLOCK} s`],
      ['Factory', contracts.factoryAddress],
      ['Settlement', `${contracts.settlementAddress}, made by ${contracts.settlementFactoryAddress}`],
      [
        'A holder',
        `${holder.address}  ${pc.dim(`key ${holder.secretKey}, for a wallet on this chain alone`)}`,
      ],
    ],
  };
};

async function advanceClock(node: Anvil, seconds: number): Promise<bigint> {
  await node.rpc('evm_increaseTime', [seconds]);
  await node.mine(BLOCKS_UNTIL_FINAL);
  const block = (await node.rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: string };
  return BigInt(block.timestamp);
}

await runDev({
  name: 'evm',
  description: 'Starts an EVM node, deploys the contracts, and runs the server on them.',
  defaultRpcPort: DEFAULT_RPC_PORT,
  open,
  isPortTaken,
});
