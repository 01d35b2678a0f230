/**
 * The declaration of EVM chains. Its methods load the adapter and viem when they are used.
 */
import { defineFamily } from '../family.ts';
import { configureEvm, EVM_SETTINGS, nameOfMainnet } from './settings.ts';
import { recordCommands } from './recordCommands.ts';

export const evm = defineFamily({
  id: 'evm',
  title: 'EVM chains',
  names: ['evm'],
  namesDescription: 'evm (any, by url and chain id)',
  settings: EVM_SETTINGS,
  node: { protocol: 'EVM JSON-RPC' },
  secretKey: {
    pattern: /^0x[0-9a-fA-F]{64}$/,
    form: 'on EVM 0x and 64 hexadecimal digits',
    shown: 'on EVM 0x…',
  },
  requiredSettings: () => [
    'LEDGER_SECRET_KEY',
    'LEDGER_FACTORY_ADDRESS',
    'LEDGER_RPC_URL',
    'LEDGER_CHAIN_ID',
  ],
  async findProblems(given) {
    const { findEvmProblems } = await import('./settingProblems.ts');
    return findEvmProblems(given);
  },
  nameOfMainnet,
  configure: configureEvm,
  walletFormat: {
    name: 'evm-call',
    description:
      'JSON of chainId, from, to, data, value, nonce, gas and fees. Return the signed raw transaction, 0x….',
  },

  migrations: [],
  async create(ledger, { log, seenLedgers }) {
    const { createEvmNetwork } = await import('./network.ts');
    const { evmIdentityCheck } = await import('./identity.ts');
    const network = await createEvmNetwork({ ...ledger, log, seenLedgers: await seenLedgers() });
    return { network, idProblem: network.idProblem, checkIdentity: evmIdentityCheck(ledger) };
  },
  async *check(ledger) {
    const { checkEvmNetwork } = await import('./checks.ts');
    yield* checkEvmNetwork(ledger);
  },
  remedies: {
    finality: 'Use a node that knows the final block, or set LEDGER_FINALITY to a number of confirmations.',
    fees: 'Raise LEDGER_MAX_FEE_GWEI, or wait.',
    'deployment fee': 'Raise LEDGER_MAX_DEPLOYMENT_FEE_COINS, or have the factory’s owner lower the fee.',
  },
  // Final blocks are a quarter of an hour old if the chain itself decides finality, and older if the chain is
  // idle.
  stale: {
    afterSeconds: 3600,
    result: 'warn',
    remedy:
      'The chain is idle, or the node behind it. Nothing becomes final while no block follows: see LEDGER_FINALITY.',
  },
  recordCommands,
  channels: null,
});
