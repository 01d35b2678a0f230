/**
 * Settings that are valid alone and contradict each other. The ledger's are in ledgerContradictions.ts.
 */
import type { ReadSettings } from './readSettings.ts';
import { SETTINGS, type SettingName } from './settings.ts';

interface ForOneChoice {
  names: readonly SettingName[];
  setting: 'RAMP_PROVIDER' | 'APPROVALS';
  choice: string;
  /** The consequence with another choice, where these settings are not read. */
  otherwise: string;
}

const FOR_HTTP_RAMP = ['RAMP_NAME', 'RAMP_URL', 'RAMP_API_KEY', 'RAMP_CALLBACK_SECRETS'] as const;

const FOR_ONE_CHOICE: readonly ForOneChoice[] = [
  {
    names: [...FOR_HTTP_RAMP, 'RAMP_REQUESTS_PER_SECOND'],
    setting: 'RAMP_PROVIDER',
    choice: 'http',
    otherwise: 'no payout would reach the provider',
  },
  {
    names: ['RAMP_EXCHANGE_RATES', 'RAMP_FEE_BPS', 'RAMP_QUOTE_SECONDS'],
    setting: 'RAMP_PROVIDER',
    choice: 'manual',
    otherwise: "the provider's own quotes would hold",
  },
  {
    names: ['APPROVAL_ABOVE_TONNES', 'APPROVAL_ABOVE_KILOGRAMS', 'APPROVAL_SECONDS'],
    setting: 'APPROVALS',
    choice: 'required',
    otherwise: 'nothing would await approval',
  },
];

/** Settings without effect unless another one is set, and the consequence. */
const BESIDE_ANOTHER: readonly [name: SettingName, other: SettingName, otherwise: string][] = [
  ['INDEXER_TOKEN', 'INDEXER_URL', 'it would be sent to no indexer'],
  ['DATABASE_DIRECT_URL', 'DATABASE_URL', 'the embedded PostgreSQL would be used'],
  ['DATABASE_MIGRATION_URL', 'DATABASE_URL', 'the embedded PostgreSQL has roles of its own'],
  ['DATABASE_READ_URL', 'DATABASE_URL', 'the embedded PostgreSQL has no replicas'],
  ['DATABASE_READ_MAX_LAG_SECONDS', 'DATABASE_READ_URL', 'no replica would be read from'],
];

export function findContradictions(read: ReadSettings): string[] {
  const { values, isGiven } = read;
  const problems = [
    ...FOR_ONE_CHOICE.flatMap((group) => findIgnored(read, group)),
    ...BESIDE_ANOTHER.filter(([name, other]) => isGiven(name) && !isGiven(other)).map(
      ([name, other, otherwise]) => `${name} is set without ${other}: ${otherwise}. Set both or none.`,
    ),
  ];
  if (values.RAMP_PROVIDER === 'http') {
    const missing = FOR_HTTP_RAMP.filter((name) => !isGiven(name));
    problems.push(...missing.map((name) => `${name} must be set with RAMP_PROVIDER=http.`));
  }
  if (isGiven('AUTH_SECRETS') && isGiven('AUTH_JWKS_URL')) {
    problems.push(
      'AUTH_SECRETS and AUTH_JWKS_URL are both set: tokens are verified one way only. Remove one.',
    );
  }
  if (values.DOCUMENTS === 'trusted' && !isGiven('TRUSTED_DOCUMENTS')) {
    problems.push(
      `TRUSTED_DOCUMENTS must be set with DOCUMENTS=trusted. ${SETTINGS.TRUSTED_DOCUMENTS.description}`,
    );
  }
  return problems;
}

/** An ignored setting that is not reported would seem to take effect. */
function findIgnored(
  { values, isGiven }: ReadSettings,
  { names, setting, choice, otherwise }: ForOneChoice,
): string[] {
  const chosen = values[setting];
  if (chosen === undefined || chosen === choice) return [];
  return names
    .filter(isGiven)
    .map(
      (name) =>
        `${name} is set, but means nothing with ${setting}=${chosen}: ${otherwise}. Set ${setting}=${choice}, or remove it.`,
    );
}
