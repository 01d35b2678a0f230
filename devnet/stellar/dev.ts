/**
 * `npm run dev:stellar`: the whole product on a Stellar network on this machine, with the real Soroban host,
 * and a ledger each second.
 */
import { Keypair } from '@stellar/stellar-sdk';
import pc from 'picocolors';
import { createStellarNetwork } from '../../src/ledger/network/stellar/network.ts';
import { deploy, freshSalt } from '../calls.ts';
import { runDev } from '../dev.ts';
import type { DevFamily } from '../dev.ts';
import { startSorobanNode } from '../soroban/startSorobanNode.ts';
import { furnish } from './contracts.ts';
import { startStellarIndexer } from './indexer.ts';

/** The port of Stellar's own local network. */
const DEFAULT_RPC_PORT = 8000;
const SECONDS_PER_LEDGER = 1;
/** No public network's, so that signatures are not valid there; without spaces, for `env $(cat …)`. */
const PASSPHRASE = 'dev-stellar';
/** The number of writes at a time. */
const CHANNELS = 22;
const MAX_INCLUSION_FEE_STROOPS = 1_000_000;
const REQUEST_TIMEOUT_MS = 30_000;

const open: DevFamily['open'] = async ({ rpcPort, log, stops }) => {
  const onError = (message: string, err: unknown) => log.warn({ err }, message);
  const node = await startSorobanNode({
    port: rpcPort,
    passphrase: PASSPHRASE,
    closeEveryMs: SECONDS_PER_LEDGER * 1000,
    closeSeconds: SECONDS_PER_LEDGER,
    onError: (error) => onError('the Soroban node failed', error),
  });
  stops.push(node.stop);
  log.info('deploying the contracts');
  const { factoryAddress, settlementFactory } = await furnish(node, {
    depositAuth: 'nested',
    deploymentFee: 0n,
  });
  const [custody, holder] = [Keypair.random(), Keypair.random()];
  const channels = Array.from({ length: CHANNELS }, () => Keypair.random());
  for (const key of [custody, holder, ...channels]) node.fund(key.publicKey());
  const network = await createStellarNetwork({
    name: 'stellar',
    rpcUrl: node.url,
    passphrase: node.passphrase,
    secretKey: custody.secret(),
    channelSecretKeys: [],
    factoryAddress,
    settlementFactoryAddress: settlementFactory,
    settlementAddress: undefined,
    maxInclusionFeeStroops: MAX_INCLUSION_FEE_STROOPS,
    validitySeconds: 300,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  });
  const treasury = custody.publicKey();
  const settlement = await deploy(network, { kind: 'deployRampSettlement', salt: freshSalt(), treasury });
  const indexer = await startStellarIndexer(node, onError);
  stops.push(indexer.stop);
  return {
    settings: {
      LEDGER_NETWORK: 'stellar',
      LEDGER_RPC_URL: node.url,
      LEDGER_PASSPHRASE: node.passphrase,
      LEDGER_SECRET_KEY: custody.secret(),
      LEDGER_CHANNEL_SECRET_KEYS: channels.map((key) => key.secret()).join(','),
      LEDGER_FACTORY_ADDRESS: factoryAddress,
      LEDGER_SETTLEMENT_FACTORY_ADDRESS: settlementFactory,
      RAMP_SETTLEMENT_ADDRESS: settlement,
      INDEXER_URL: indexer.url,
    },
    async advanceClock(seconds) {
      // Waiting transactions land before the time moves; the next ledger is the first with the new time.
      node.closeLedger();
      node.passTime(seconds);
      return BigInt(node.closeLedger().closedAt);
    },
    facts: [
      [
        'Node',
        `${pc.cyan(node.url)}  passphrase "${node.passphrase}", a ledger every ${SECONDS_PER_LEDGER} s`,
      ],
      ['Factory', factoryAddress],
      ['Settlement', `${settlement}, made by ${settlementFactory}`],
      [
        'A holder',
        `${holder.publicKey()}  ${pc.dim(`key ${holder.secret()}, for a wallet on this network alone`)}`,
      ],
    ],
  };
};

await runDev({
  name: 'stellar',
  description:
    'Starts a Stellar node with the real Soroban host, deploys the contracts, and runs the server on them.',
  defaultRpcPort: DEFAULT_RPC_PORT,
  open,
  isPortTaken: (error) => (error as NodeJS.ErrnoException).code === 'EADDRINUSE',
});
