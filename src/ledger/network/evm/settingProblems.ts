/**
 * Finds settings of an EVM chain that are each valid but wrong together. No message repeats a secret. viem
 * loads slowly, so family.ts loads this file only if an EVM chain is configured.
 */
import { mnemonicToAccount, privateKeyToAddress } from 'viem/accounts';
import { normalizeAddress } from './addresses.ts';
import { readErrorAbi } from './errorAbi.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { GivenSettings } from '../family.ts';
import { nameOfMainnet, type EVM_SETTINGS } from './settings.ts';

type Given = GivenSettings<typeof EVM_SETTINGS>;

const CONTRACTS = [
  'LEDGER_FACTORY_ADDRESS',
  'LEDGER_SETTLEMENT_FACTORY_ADDRESS',
  'RAMP_SETTLEMENT_ADDRESS',
] as const;

/** The accounts of development chains, whose keys are public. */
const TEST_MNEMONIC = 'test test test test test test test test test test test junk';
const TEST_ACCOUNTS = 10;

export async function findEvmProblems(given: Given): Promise<string[]> {
  const { values } = given;
  const addresses = CONTRACTS.flatMap((name) => {
    const address = values[name];
    if (address === undefined || normalizeAddress(address) !== null) return [];
    return [
      `${name} is ${JSON.stringify(address)}, which is no EVM address: expected 0x and 40 hexadecimal digits, ` +
        'not all of them 0, and with a right checksum if in mixed case.',
    ];
  });
  return [
    ...addresses,
    ...(await findErrorAbiProblems(values.LEDGER_ERROR_ABI_FILE)),
    ...findKeyProblems(given),
  ];
}

async function findErrorAbiProblems(file: string | undefined): Promise<string[]> {
  try {
    await readErrorAbi(file);
    return [];
  } catch (error) {
    return [`LEDGER_ERROR_ABI_FILE: ${messageOf(error)}.`];
  }
}

function findKeyProblems(given: Given): string[] {
  const key = given.values.LEDGER_SECRET_KEY;
  if (key === undefined) return [];
  const address = addressOf(key);
  if (address === null) {
    return ['LEDGER_SECRET_KEY is no EVM private key: expected 0x and 64 hexadecimal digits.'];
  }
  const isMoney = given.isProduction || nameOfMainnet(given) !== null;
  if (!isMoney || !isTestAddress(address)) return [];
  return [
    'LEDGER_SECRET_KEY is one of the keys of development chains, which are public. Make one of your own.',
  ];
}

function addressOf(key: string): string | null {
  try {
    return privateKeyToAddress(key as `0x${string}`);
  } catch {
    return null;
  }
}

function isTestAddress(address: string): boolean {
  return Array.from({ length: TEST_ACCOUNTS }, (_, addressIndex) =>
    mnemonicToAccount(TEST_MNEMONIC, { addressIndex }),
  ).some((account) => account.address === address);
}
