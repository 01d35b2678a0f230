/**
 * The product's surroundings on a private Stellar network: a Soroban node with the deployed contracts,
 * channels, and a double of an indexer.
 */
import { randomBytes } from 'node:crypto';
import { Address, Keypair, nativeToScVal, TransactionBuilder } from '@stellar/stellar-sdk';
import type { StellarLedger } from '../../src/ledger/network/stellar/settings.ts';
import { invoke, startStellarTestbed, type StellarTestbed } from './stellarTestbed.ts';
import { startStellarIndexer } from './indexer.ts';
import type { StellarDevnetOptions } from './startStellarDevnet.ts';
import type { Holder, NetworkWorld } from '../world.ts';

export interface StellarWorld extends NetworkWorld {
  ledger: StellarLedger;
  testbed: StellarTestbed;
}

export async function startStellarWorld(
  options: { channels?: number; devnet?: StellarDevnetOptions } = {},
): Promise<StellarWorld> {
  const { channels = 4, devnet: devnetOptions = {} } = options;
  const testbed = await startStellarTestbed({ channels, devnet: devnetOptions });
  const { devnet, custody } = testbed;
  const indexer = await startStellarIndexer(devnet);
  return {
    testbed,
    ledger: {
      family: 'stellar',
      name: 'stellar',
      rpcUrl: devnet.url,
      passphrase: devnet.passphrase,
      secretKey: custody.secret(),
      channelSecretKeys: testbed.channels.map((key) => key.secret()),
      factoryAddress: devnet.factoryAddress,
      settlementFactoryAddress: devnet.settlementFactory,
      settlementAddress: testbed.settlementAddress,
      maxInclusionFeeStroops: 1_000_000,
      requestTimeoutMs: 10_000,
    },
    indexerUrl: indexer.url,
    createHolder: async () => createHolder(testbed),
    setPaused: testbed.setPaused,
    transferFromCustody: (tokenAddress, to, amount) =>
      invoke(devnet, custody, tokenAddress, 'transfer', [
        new Address(custody.publicKey()).toScVal(),
        new Address(to).toScVal(),
        nativeToScVal(amount, { type: 'i128' }),
      ]),
    advanceClock: testbed.advanceClock,
    async close() {
      await indexer.stop();
      await testbed.close();
    },
  };
}

function createHolder({ devnet }: StellarTestbed): Holder {
  const key = Keypair.fromRawEd25519Seed(randomBytes(32));
  devnet.fund(key.publicKey());
  return {
    address: key.publicKey(),
    async sign({ payload }) {
      const transaction = TransactionBuilder.fromXDR(payload, devnet.passphrase);
      transaction.sign(key);
      return transaction.toXDR();
    },
  };
}
