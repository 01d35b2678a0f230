/**
 * Settings of the ledger network that are valid alone and contradict each other. All contradictions are found
 * before anything is opened, and are reported by name without repeating a secret. Each family checks its own
 * settings.
 */
import { familyNamed } from '../ledger/network/families.ts';
import type { NetworkFamily } from '../ledger/network/family.ts';
import { staysPrivate } from '../lib/hosts.ts';
import { familiesWith, LEDGER_SETTINGS, type LedgerSettingName } from './ledgerSettings.ts';
import type { ReadSettings } from './readSettings.ts';

/** Settings that are valid alone and contradict the configured network. */
export async function findLedgerProblems(read: ReadSettings): Promise<string[]> {
  const { values, isProduction } = read;
  const network = values.LEDGER_NETWORK;
  if (network === undefined) return [];
  const family = familyNamed(network);
  const given = { network, values, isProduction };
  return [
    ...findForeignSettings(read, family),
    ...findMissing(read, family),
    ...(await family.findProblems(given)),
    ...findUnsafeNode(read, family.nameOfMainnet(given)),
  ];
}

function findForeignSettings({ values, isGiven }: ReadSettings, family: NetworkFamily): string[] {
  return (Object.keys(LEDGER_SETTINGS) as LedgerSettingName[])
    .filter((name) => isGiven(name) && !familiesWith(name).includes(family))
    .map(
      (name) =>
        `${name} is set, but means nothing with LEDGER_NETWORK=${values.LEDGER_NETWORK}: it is for ` +
        `${familiesWith(name)
          .map(({ title }) => title)
          .join(' and ')}. Remove it, or set LEDGER_NETWORK to the network that is meant.`,
    );
}

function findMissing({ values, isGiven }: ReadSettings, family: NetworkFamily): string[] {
  const network = values.LEDGER_NETWORK ?? '';
  const required = family.requiredSettings(network) as LedgerSettingName[];
  return required
    .filter((name) => !isGiven(name))
    .map(
      (name) => `${name} must be set with LEDGER_NETWORK=${network}. ${LEDGER_SETTINGS[name].description}`,
    );
}

/**
 * The server believes what its node answers, so no other program may be able to change the answers on their
 * way.
 */
function findUnsafeNode({ values, isProduction }: ReadSettings, money: string | null): string[] {
  const problems: string[] = [];
  const url = values.LEDGER_RPC_URL;
  if (url?.startsWith('http:') && !staysPrivate(url) && (isProduction || money !== null)) {
    problems.push(
      `LEDGER_RPC_URL leads to ${new URL(url).host} in clear text: a program in between could claim that ` +
        'a burn happened. Use https://.',
    );
  }
  if (money !== null && !isProduction) {
    problems.push(
      `NODE_ENV must be production with ${money}: ` +
        'what happens there costs real money, and other settings are too trusting for it.',
    );
  }
  return problems;
}
