/**
 * The declaration of Stellar. Its methods load the adapter and Stellar's library when they are used.
 */
import { defineFamily } from '../family.ts';
import { STRKEY_SECRET_KEY } from '../strkeySettings.ts';
import { findStellarProblems, nameOfMainnet } from './settingProblems.ts';
import { configureStellar, knownOf, STELLAR_SETTINGS, TESTNET_RPC_URL } from './settings.ts';
import { recordCommands } from './recordCommands.ts';

export const stellar = defineFamily({
  id: 'stellar',
  title: 'Stellar',
  names: ['ledger-testnet', 'stellar-mainnet', 'stellar'],
  namesDescription: 'ledger-testnet, stellar-mainnet, stellar (any, by url and passphrase)',
  settings: STELLAR_SETTINGS,
  node: { protocol: 'Stellar RPC', defaultUrl: `on the Stellar testnet: ${TESTNET_RPC_URL}` },
  secretKey: STRKEY_SECRET_KEY,
  requiredSettings(network) {
    const { rpcUrl, passphrase } = knownOf(network);
    return [
      'LEDGER_SECRET_KEY',
      'LEDGER_FACTORY_ADDRESS',
      ...(rpcUrl === undefined ? ['LEDGER_RPC_URL'] : []),
      ...(passphrase === undefined ? ['LEDGER_PASSPHRASE'] : []),
    ];
  },
  findProblems: async (given) => findStellarProblems(given),
  nameOfMainnet,
  configure: configureStellar,
  walletFormat: {
    name: 'stellar-xdr',
    description: 'A base64 TransactionEnvelope. Return the same envelope with the signature in it.',
  },

  migrations: [],
  async create(ledger, { log, seenLedgers }) {
    const { createStellarNetwork } = await import('./network.ts');
    const { guardLedgerNumbers } = await import('../continuity.ts');
    const { stellarIdentityCheck } = await import('./identity.ts');
    const network = await createStellarNetwork({ ...ledger, log });
    return {
      network: guardLedgerNumbers(network, await seenLedgers(), () => performance.now()),
      checkIdentity: stellarIdentityCheck(ledger),
    };
  },
  async *check(ledger) {
    const { checkStellarNetwork } = await import('./checks.ts');
    yield* checkStellarNetwork(ledger);
  },
  remedies: {
    fees: 'Raise LEDGER_MAX_INCLUSION_FEE_STROOPS, or wait.',
    channels: '(npm run ledger:channels -- --count 22 makes them, and tops them up.)',
  },
  // A ledger closes every five seconds, also on an idle network.
  stale: {
    afterSeconds: 60,
    result: 'fail',
    remedy:
      'The node is behind the network (or this machine’s clock is wrong): use another in LEDGER_RPC_URL, or wait.',
  },
  recordCommands,
  channels: {
    async open(ledger) {
      const { fundChannels, readChannels } = await import('./channels.ts');
      const { stellarIdentityCheck } = await import('./identity.ts');
      const { addressOfSecretKey } = await import('../../../lib/strkey.ts');
      return {
        custodyAddress: addressOfSecretKey(ledger.secretKey),
        configuredKeys: ledger.channelSecretKeys,
        checkIdentity: stellarIdentityCheck(ledger),
        read: (channelSecretKeys) => readChannels({ ...ledger, channelSecretKeys }),
        fund: (channelSecretKeys, funding) => fundChannels({ ...ledger, channelSecretKeys }, funding),
      };
    },
  },
});
