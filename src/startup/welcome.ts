/**
 * The message on the terminal once the server is up: what runs where, how to sign in, and the next steps.
 */
import pc from 'picocolors';
import type { Config } from '../config/config.ts';
import { signDevelopmentToken } from './developmentTokens.ts';
import { GRAPHQL_PATH } from '../http/graphql/yoga.ts';
import { ROLES } from '../identity/roles.ts';
import type { LedgerNetwork } from '../ledger/network/port.ts';
import { hostInUrl, isLoopback } from '../lib/hosts.ts';
import { SETTINGS } from '../config/settings.ts';

export async function welcome(facts: {
  config: Config;
  port: number;
  database: { description: string };
  network: Pick<LedgerNetwork, 'name' | 'custodyAddress'>;
  indexerUrl: string | null;
  /** Whether the network's time can be moved, as the demo does. */
  isTimeMovable: boolean;
}): Promise<string> {
  const { config, port, database, network, indexerUrl, isTimeMovable } = facts;
  // As a browser on this machine reaches the server.
  const base = `http://${isLoopback(config.HOST) ? 'localhost' : hostInUrl(config.HOST)}:${port}`;
  const lines = [
    '',
    `${pc.bold('GraphQL')}    ${pc.cyan(`${base}${GRAPHQL_PATH}`)}${config.GRAPHIQL ? '  (GraphiQL in a browser)' : ''}`,
    `${pc.bold('Registry')}   ${pc.cyan(`${base}/`)}  (public pages; operators sign in at ${base}/console)`,
    `${pc.bold('Database')}   ${database.description}`,
    `${pc.bold('Network')}    ${network.name}, custody ${network.custodyAddress}`,
    `${pc.bold('Indexer')}    ${describeIndexer(config, indexerUrl)}`,
    '',
  ];
  if (config.hasDevelopmentTokens) lines.push(...(await tokenLines(config)), '');
  const next = nextSteps(config, `${base}${GRAPHQL_PATH}`, isTimeMovable);
  if (next.length > 0) lines.push(`Next: ${next.join(', or ')}.`, '');
  return `${lines.join('\n')}\n`;
}

function describeIndexer(
  { INDEXER_URL, FEED_COMPARE_INTERVAL_MS }: Config,
  indexerUrl: string | null,
): string {
  if (indexerUrl === null)
    return `none; the feed looks at the tokens every ${FEED_COMPARE_INTERVAL_MS / 1000} s`;
  return INDEXER_URL === undefined ? `embedded, ${indexerUrl}` : indexerUrl;
}

/**
 * The demo acts in every role, so it needs the tokens of every role. It issues its own tokens, and with
 * --expiry it ends half a year later, so it is only for development networks.
 */
function nextSteps(config: Config, graphqlUrl: string, isTimeMovable: boolean): string[] {
  return [
    ...(config.hasDevelopmentTokens && isTimeMovable
      ? [`${pc.bold(demoCommand(config))} in a second terminal`]
      : []),
    ...(config.GRAPHIQL ? [`open ${pc.cyan(graphqlUrl)}`] : []),
  ];
}

/** Includes the settings that a second terminal does not have. */
function demoCommand(config: Config): string {
  const moved = (['PORT', 'DATA_DIR'] as const).filter(
    (name) => String(config[name]) !== SETTINGS[name].default,
  );
  return [...moved.map((name) => `${name}=${config[name]}`), 'npm run demo'].join(' ');
}

async function tokenLines(config: Config): Promise<string[]> {
  const tokens = await Promise.all(
    ROLES.map(async (role) => `  ${role.padEnd(10)} ${pc.dim(await signDevelopmentToken(config, role))}`),
  );
  return [
    pc.bold('Development tokens') + ' (header "authorization: Bearer …"; others: npm run -s token -- --help)',
    ...tokens,
  ];
}
