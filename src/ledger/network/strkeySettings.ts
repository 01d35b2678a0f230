/**
 * Settings that are Stellar's strkeys, used by Stellar and by the embedded network, which has the same form
 * of keys and addresses.
 */
import { decodeStrkey } from '../../lib/strkey.ts';
import type { SharedValues } from './family.ts';

type ContractSetting =
  'LEDGER_FACTORY_ADDRESS' | 'LEDGER_SETTLEMENT_FACTORY_ADDRESS' | 'RAMP_SETTLEMENT_ADDRESS';

export const STRKEY_SECRET_KEY = {
  pattern: /^S[A-Z2-7]{55}$/,
  form: 'an S… secret key of 56 characters',
  shown: 'S…',
} as const;

export function isSeed(key: string): boolean {
  return decodeStrkey(key)?.kind === 'seed';
}

export function findKeyProblems({ LEDGER_SECRET_KEY: key }: Partial<SharedValues>): string[] {
  if (key === undefined || isSeed(key)) return [];
  return [
    'LEDGER_SECRET_KEY is no Stellar secret key: expected "S" and 55 more characters with a valid checksum.',
  ];
}

export function findContractProblems(
  values: Partial<SharedValues>,
  names: readonly ContractSetting[],
): string[] {
  return names.flatMap((name) => {
    const address = values[name];
    if (address === undefined || decodeStrkey(address)?.kind === 'contract') return [];
    return [`${name} is ${JSON.stringify(address)}, which is no contract address (C…) of Stellar.`];
  });
}
