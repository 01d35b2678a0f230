/**
 * The product on a simulated Stellar network: a Soroban node with the deployed interface's contracts, channels, and
 * the double of an indexer.
 */
import { randomBytes } from 'node:crypto';
import { Address, Keypair, nativeToScVal, TransactionBuilder } from '@stellar/stellar-sdk';
import type { StellarLedger } from '../../src/ledgerConfig.ts';
import { invoke, stageStellar, type StellarStage } from '../harness/stellarStage.ts';
import { startStellarIndexer } from '../stellar/indexer.ts';
import type { SorobanSimulatorOptions } from '../stellar/startSorobanSimulator.ts';
import type { Holder, NetworkWorld } from './world.ts';

export interface StellarWorld extends NetworkWorld {
  ledger: StellarLedger;
  stage: StellarStage;
}

export async function startStellarWorld(
  options: { channels?: number; simulator?: SorobanSimulatorOptions } = {},
): Promise<StellarWorld> {
  const { channels = 4, simulator: simulatorOptions = {} } = options;
  const stage = await stageStellar({ channels, simulator: simulatorOptions });
  const { simulator, custody } = stage;
  const indexer = await startStellarIndexer(simulator);
  return {
    stage,
    ledger: {
      family: 'stellar',
      name: 'stellar',
      rpcUrl: simulator.url,
      passphrase: simulator.passphrase,
      secretKey: custody.secret(),
      channelSecretKeys: stage.channels.map((key) => key.secret()),
      factoryAddress: simulator.factoryAddress,
      settlementFactoryAddress: simulator.settlementFactory,
      settlementAddress: stage.settlementAddress,
      maxInclusionFeeStroops: 1_000_000,
      requestTimeoutMs: 10_000,
    },
    indexerUrl: indexer.url,
    createHolder: async () => createHolder(stage),
    setPaused: stage.setPaused,
    transferFromCustody: (tokenAddress, to, amount) =>
      invoke(simulator, custody, tokenAddress, 'transfer', [
        new Address(custody.publicKey()).toScVal(),
        new Address(to).toScVal(),
        nativeToScVal(amount, { type: 'i128' }),
      ]),
    advanceClock: stage.advanceClock,
    async close() {
      await indexer.stop();
      await stage.close();
    },
  };
}

function createHolder({ simulator }: StellarStage): Holder {
  const key = Keypair.fromRawEd25519Seed(randomBytes(32));
  simulator.fund(key.publicKey());
  return {
    address: key.publicKey(),
    async sign({ payload }) {
      const transaction = TransactionBuilder.fromXDR(payload, simulator.passphrase);
      transaction.sign(key);
      return transaction.toXDR();
    },
  };
}
