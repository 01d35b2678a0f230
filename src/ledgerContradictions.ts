/**
 * Settings of the ledger network that are right by themselves and wrong together: all are found before anything
 * is opened, by name, and no secret is repeated.
 */
import { decodeStrkey } from './ledger/network/embedded/strkey.ts';
import { KNOWN_NETWORKS, MAINNET_PASSPHRASE } from './ledgerConfig.ts';
import type { LedgerNetworkName, LedgerSettingName, LedgerValues } from './ledgerConfig.ts';
import { LEDGER_SETTINGS } from './ledgerSettings.ts';
import { leadsToThisMachine, staysPrivate } from './privateHost.ts';
import type { LedgerFamily } from './settingRules.ts';

const CONTRACTS = [
  'LEDGER_FACTORY_ADDRESS',
  'LEDGER_SETTLEMENT_FACTORY_ADDRESS',
  'RAMP_SETTLEMENT_ADDRESS',
] as const satisfies LedgerSettingName[];

const EVERY_FAMILY: readonly LedgerFamily[] = ['embedded', 'stellar', 'evm'];

/** Of the best known chains that hold money: Ethereum, OP, BNB, Gnosis, Polygon, Base, Arbitrum, Celo, Avalanche. */
const MONEY_CHAIN_IDS: ReadonlySet<number> = new Set([1, 10, 56, 100, 137, 8453, 42_161, 42_220, 43_114]);

/** The accounts that every development chain has, and everybody the keys of. */
const TEST_MNEMONIC = 'test test test test test test test test test test test junk';
const TEST_ACCOUNTS = 10;

/** The settings as read; one that breaks its own rule was named already, and is given but not in `values`. */
export interface ReadLedgerSettings {
  values: Partial<LedgerValues>;
  isGiven: (name: LedgerSettingName) => boolean;
  isProduction: boolean;
}

/** Settings that are right by themselves and wrong for the network that is configured. */
export async function findLedgerProblems(read: ReadLedgerSettings): Promise<string[]> {
  const name = read.values.LEDGER_NETWORK;
  if (name === undefined) return [];
  const { family } = KNOWN_NETWORKS[name];
  return [
    ...findForeignSettings(read, name),
    ...(family === 'embedded' ? [] : findMissing(read, name)),
    ...findOtherPassphrase(read, name),
    ...(await (family === 'evm' ? findEvmProblems(read) : findStellarProblems(read, family))),
    ...findUnsafeNode(read, name),
  ];
}

function findForeignSettings({ isGiven }: ReadLedgerSettings, network: LedgerNetworkName): string[] {
  const { family } = KNOWN_NETWORKS[network];
  return namesOfSettings()
    .filter((name) => isGiven(name) && !familiesOf(name).includes(family))
    .map(
      (name) =>
        `${name} is set, but means nothing with LEDGER_NETWORK=${network}: it is for ${describe(familiesOf(name))}. ` +
        'Remove it, or set LEDGER_NETWORK to the network that is meant.',
    );
}

function findMissing({ isGiven }: ReadLedgerSettings, network: LedgerNetworkName): string[] {
  const { family, passphrase, rpcUrl } = KNOWN_NETWORKS[network];
  const required: LedgerSettingName[] = ['LEDGER_SECRET_KEY', 'LEDGER_FACTORY_ADDRESS'];
  if (rpcUrl === undefined) required.push('LEDGER_RPC_URL');
  if (family === 'stellar' && passphrase === undefined) required.push('LEDGER_PASSPHRASE');
  if (family === 'evm') required.push('LEDGER_CHAIN_ID');
  return required
    .filter((name) => !isGiven(name))
    .map(
      (name) => `${name} must be set with LEDGER_NETWORK=${network}. ${LEDGER_SETTINGS[name].description}`,
    );
}

function findOtherPassphrase({ values }: ReadLedgerSettings, network: LedgerNetworkName): string[] {
  const { passphrase } = KNOWN_NETWORKS[network];
  const given = values.LEDGER_PASSPHRASE;
  if (passphrase === undefined || given === undefined || given === passphrase) return [];
  return [
    `LEDGER_PASSPHRASE is ${JSON.stringify(given)}, but the one of ${network} is ${JSON.stringify(passphrase)}. ` +
      'Remove it, or set LEDGER_NETWORK=stellar for a network of your own.',
  ];
}

/** The embedded network has Stellar's keys and addresses. */
function findStellarProblems({ values }: ReadLedgerSettings, family: LedgerFamily): string[] {
  const problems: string[] = [];
  const key = values.LEDGER_SECRET_KEY;
  if (key !== undefined && !isSeed(key)) {
    problems.push(
      'LEDGER_SECRET_KEY is no Stellar secret key: expected "S" and 55 more characters with a valid checksum.',
    );
  }
  problems.push(...findChannelProblems(values.LEDGER_CHANNEL_SECRET_KEYS ?? [], key));
  for (const name of CONTRACTS.filter((name) => familiesOf(name).includes(family))) {
    const address = values[name];
    if (address !== undefined && decodeStrkey(address)?.kind !== 'contract') {
      problems.push(`${name} is ${JSON.stringify(address)}, which is no contract address (C…) of Stellar.`);
    }
  }
  return problems;
}

function findChannelProblems(channels: readonly string[], custody: string | undefined): string[] {
  // By their place in the list: the keys themselves are secrets.
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

function isSeed(key: string): boolean {
  return decodeStrkey(key)?.kind === 'seed';
}

/** viem takes a while to load, so it is only on the way of those who need it. */
async function findEvmProblems(read: ReadLedgerSettings): Promise<string[]> {
  const { isAddress } = await import('viem');
  const { values } = read;
  const problems: string[] = [];
  for (const name of CONTRACTS) {
    const address = values[name];
    if (address !== undefined && !isAddress(address)) {
      problems.push(
        `${name} is ${JSON.stringify(address)}, which is no EVM address: expected 0x and 40 hexadecimal digits, ` +
          'in lower case or with their checksum.',
      );
    }
  }
  const key = values.LEDGER_SECRET_KEY;
  if (key === undefined) return problems;
  if (!(await isEvmKey(key))) {
    problems.push('LEDGER_SECRET_KEY is no EVM private key: expected 0x and 64 hexadecimal digits.');
  } else if ((read.isProduction || holdsMoney(values)) && (await isTestKey(key))) {
    problems.push(
      'LEDGER_SECRET_KEY is one of the keys of development chains, which everybody has. Make one of your own.',
    );
  }
  return problems;
}

async function isEvmKey(key: string): Promise<boolean> {
  const { privateKeyToAddress } = await import('viem/accounts');
  try {
    privateKeyToAddress(key as `0x${string}`);
    return true;
  } catch {
    return false;
  }
}

async function isTestKey(key: string): Promise<boolean> {
  const { mnemonicToAccount, privateKeyToAddress } = await import('viem/accounts');
  const address = privateKeyToAddress(key as `0x${string}`);
  return Array.from({ length: TEST_ACCOUNTS }, (_, addressIndex) =>
    mnemonicToAccount(TEST_MNEMONIC, { addressIndex }),
  ).some((account) => account.address === address);
}

/** A node decides what is believed to have happened, so nobody may stand between it and us. */
function findUnsafeNode(read: ReadLedgerSettings, network: LedgerNetworkName): string[] {
  const { values, isProduction } = read;
  const problems: string[] = [];
  const url = values.LEDGER_RPC_URL;
  const isMoney = holdsMoney(values);
  if (url?.startsWith('http:') && !staysPrivate(url) && (isProduction || isMoney)) {
    problems.push(
      `LEDGER_RPC_URL leads to ${new URL(url).host} in clear text: whoever stands in between could tell us that ` +
        'a burn happened. Use https://.',
    );
  }
  if (isMoney && !isProduction) {
    problems.push(
      `NODE_ENV must be production with LEDGER_NETWORK=${network}` +
        `${values.LEDGER_CHAIN_ID === undefined ? '' : ` and LEDGER_CHAIN_ID=${values.LEDGER_CHAIN_ID}`}: ` +
        'what happens there costs real money, and other settings are too trusting for it.',
    );
  }
  return problems;
}

/** A node on this machine is a copy of the network, for trying out. */
function holdsMoney(values: Partial<LedgerValues>): boolean {
  const { LEDGER_NETWORK: network, LEDGER_RPC_URL: url } = values;
  if (network === undefined || (url !== undefined && leadsToThisMachine(url))) return false;
  const passphrase = values.LEDGER_PASSPHRASE ?? KNOWN_NETWORKS[network].passphrase;
  return (
    passphrase === MAINNET_PASSPHRASE ||
    (values.LEDGER_CHAIN_ID !== undefined && MONEY_CHAIN_IDS.has(values.LEDGER_CHAIN_ID))
  );
}

function namesOfSettings(): LedgerSettingName[] {
  return Object.keys(LEDGER_SETTINGS) as LedgerSettingName[];
}

function familiesOf(name: LedgerSettingName): readonly LedgerFamily[] {
  const setting: { onlyOn?: readonly LedgerFamily[] } = LEDGER_SETTINGS[name];
  return setting.onlyOn ?? EVERY_FAMILY;
}

function describe(families: readonly LedgerFamily[]): string {
  const names: Record<LedgerFamily, string> = {
    embedded: 'the embedded network',
    stellar: 'Stellar',
    evm: 'EVM chains',
  };
  return families.map((family) => names[family]).join(' and ');
}
