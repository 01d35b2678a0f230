/**
 * The settings of the ledger network: those that the families of networks share, with each family's own
 * settings (src/ledger/network/families.ts) in their places.
 */
import * as z from 'zod';
import { FAMILIES, type LedgerNetworkName } from '../ledger/network/families.ts';
import type { NetworkFamily, OwnSetting } from '../ledger/network/family.ts';
import { httpUrl, setting, text, wholeNumber, type Setting } from '../lib/settingRules.ts';

const families: readonly NetworkFamily[] = FAMILIES;

/** The networks that this build supports. The first one needs no settings. */
const names = families.flatMap((family) => family.names) as LedgerNetworkName[];

const nodes = families.flatMap(({ node }) => node ?? []);

const secretKey = z.string().refine(
  (key) => families.some((family) => family.secretKey.pattern.test(key)),
  `must be ${listOf(
    families.map((family) => family.secretKey.form),
    ', or ',
  )}`,
);

const SHARED = {
  LEDGER_NETWORK: setting(
    z.enum(names, { error: `must be one of: ${names.join(', ')}` }),
    names[0] ?? null,
    `The ledger network that tokens live on: ${listOf(families.map(({ namesDescription }) => namesDescription))}.`,
  ),
  LEDGER_RPC_URL: setting(
    httpUrl.optional(),
    null,
    `The network's node: ${listOf(
      nodes.map(({ protocol }) => protocol),
      ', or ',
    )}.` +
      nodes.map(({ defaultUrl }) => (defaultUrl === undefined ? '' : ` Default ${defaultUrl}.`)).join(''),
    // Providers put their customer's key into the path of the address.
    { secret: true },
  ),
  LEDGER_FACTORY_ADDRESS: setting(
    text.optional(),
    null,
    'The deployed token factory. Required on a real network.',
  ),
  LEDGER_SETTLEMENT_FACTORY_ADDRESS: setting(
    text.optional(),
    null,
    'The deployed factory of settlement contracts, which deployRampSettlement needs on a real network.',
  ),
  LEDGER_SECRET_KEY: setting(
    secretKey.optional(),
    null,
    `Secret key of the platform's custody signer: ${listOf(families.map((family) => family.secretKey.shown))}. ` +
      'Default on the embedded network: generated under DATA_DIR.',
    { secret: true },
  ),
  LEDGER_TIMEOUT_MS: setting(
    wholeNumber(500, 120_000),
    '10000',
    'How long one question to the node of a real network may take.',
  ),
  TREASURY_ADDRESS: setting(
    text.optional(),
    null,
    "Where credits are minted to. Must be custody's address, which is the default. Not the treasury of cash-outs, which the " +
      'settlement contract names.',
  ),
  RAMP_SETTLEMENT_ADDRESS: setting(
    text.optional(),
    null,
    'The deployed settlement contract. Default on the embedded network: the one it has from the start; elsewhere none, and no cash-outs.',
  ),
} as const;

/** Settings that have no effect on a network without a node. */
const ABOUT_NODES: ReadonlySet<string> = new Set<keyof typeof SHARED>([
  'LEDGER_RPC_URL',
  'LEDGER_FACTORY_ADDRESS',
  'LEDGER_SETTLEMENT_FACTORY_ADDRESS',
  'LEDGER_TIMEOUT_MS',
]);

type OwnOfAll = (typeof FAMILIES)[number]['settings'];
type Together<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

export const LEDGER_SETTINGS = inPlace() as typeof SHARED & Together<OwnOfAll>;

export type LedgerSettingName = keyof typeof LEDGER_SETTINGS;

/** The families that read a setting. On other families' networks the setting is a mistake. */
export function familiesWith(name: LedgerSettingName): readonly NetworkFamily[] {
  if (!(name in SHARED)) return families.filter(({ settings }) => name in settings);
  return families.filter(({ node }) => node !== null || !ABOUT_NODES.has(name));
}

/**
 * Puts each family's setting after the shared setting that it names; several there keep the families' order.
 */
function inPlace(): Record<string, Setting> {
  const own = families.flatMap(({ settings }) => Object.entries<OwnSetting>(settings));
  return Object.fromEntries([
    ...Object.entries<Setting>(SHARED).flatMap(([name, shared]) => [
      [name, shared] as const,
      ...own.filter(([, { after }]) => after === name),
    ]),
    ...own.filter(([, { after }]) => after === undefined),
  ]);
}

function listOf(texts: readonly string[], separator = ', '): string {
  return [...new Set(texts)].join(separator);
}
