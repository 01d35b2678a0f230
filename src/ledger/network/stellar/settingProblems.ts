/**
 * Finds Stellar settings that are each valid but wrong together. No message repeats a secret.
 */
import { leadsToThisMachine } from '../../../lib/hosts.ts';
import type { GivenSettings } from '../family.ts';
import { findContractProblems, findKeyProblems, isSeed } from '../strkeySettings.ts';
import { knownOf, MAINNET_PASSPHRASE, STELLAR_NETWORKS, type STELLAR_SETTINGS } from './settings.ts';

type Given = GivenSettings<typeof STELLAR_SETTINGS>;

export function findStellarProblems(given: Given): string[] {
  const { values } = given;
  return [
    ...findOtherPassphrase(given),
    ...findOwnName(given),
    ...findKeyProblems(values),
    ...findChannelProblems(values.LEDGER_CHANNEL_SECRET_KEYS ?? [], values.LEDGER_SECRET_KEY),
    ...findContractProblems(values, [
      'LEDGER_FACTORY_ADDRESS',
      'LEDGER_SETTLEMENT_FACTORY_ADDRESS',
      'RAMP_SETTLEMENT_ADDRESS',
    ]),
  ];
}

/** A node on this machine is a copy of the network, without real money. */
export function nameOfMainnet({ network, values }: Given): string | null {
  const { LEDGER_RPC_URL: url, LEDGER_PASSPHRASE: given } = values;
  if (url !== undefined && leadsToThisMachine(url)) return null;
  const passphrase = given ?? knownOf(network).passphrase;
  return passphrase === MAINNET_PASSPHRASE ? `LEDGER_NETWORK=${network}` : null;
}

function findOtherPassphrase({ network, values }: Given): string[] {
  const { passphrase } = knownOf(network);
  const given = values.LEDGER_PASSPHRASE;
  if (passphrase === undefined || given === undefined || given === passphrase) return [];
  return [
    `LEDGER_PASSPHRASE is ${JSON.stringify(given)}, but the one of ${network} is ${JSON.stringify(passphrase)}. ` +
      'Remove it, or set LEDGER_NETWORK=stellar for a network of your own.',
  ];
}

/**
 * A network has one name, which its certificates bear: `stellar` is for networks without a name of their own. A
 * node on this machine may be of another network with the same passphrase.
 */
function findOwnName({ network, values }: Given): string[] {
  const { LEDGER_RPC_URL: url, LEDGER_PASSPHRASE: given } = values;
  if (knownOf(network).passphrase !== undefined || given === undefined) return [];
  if (url !== undefined && leadsToThisMachine(url)) return [];
  const named = Object.entries(STELLAR_NETWORKS).find(([, { passphrase }]) => passphrase === given);
  if (named === undefined) return [];
  return [
    `LEDGER_PASSPHRASE is the one of ${named[0]}: set LEDGER_NETWORK=${named[0]}, the name that the certificates of this ` +
      'network bear.',
  ];
}

function findChannelProblems(channels: readonly string[], custody: string | undefined): string[] {
  // Names the keys by their place in the list, because the keys themselves are secrets.
  const places = (wrong: (key: string, i: number) => boolean) =>
    channels.flatMap((key, i) => (wrong(key, i) ? [i + 1] : [])).join(', ');
  const problems: string[] = [];
  const report = (at: string, problem: string) => {
    if (at !== '') problems.push(`LEDGER_CHANNEL_SECRET_KEYS ${problem} (key ${at} of ${channels.length}).`);
  };
  report(
    places((key) => !isSeed(key)),
    'has keys that are no Stellar secret keys: their checksum is wrong',
  );
  report(
    places((key, i) => channels.indexOf(key) !== i),
    'has keys that are there already',
  );
  report(
    places((key) => key === custody),
    'has the key of LEDGER_SECRET_KEY: channels stand in for custody, and hold nothing',
  );
  return problems;
}
