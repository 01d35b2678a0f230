/**
 * What the terminal says once the server is up: what runs where, how to get in, and what to do next.
 */
import pc from 'picocolors';
import type { Config } from './config.ts';
import { isLoopback, signDevelopmentToken } from './developmentTokens.ts';
import { GRAPHQL_PATH } from './http/yoga.ts';
import { ROLES } from './identity/roles.ts';
import type { LedgerNetwork } from './ledger/network/port.ts';

export async function welcome(facts: {
  config: Config;
  port: number;
  database: { description: string };
  network: Pick<LedgerNetwork, 'name' | 'custodyAddress'>;
  indexerUrl: string;
}): Promise<string> {
  const { config, port, database, network, indexerUrl } = facts;
  const base = `http://${nameOf(config.HOST)}:${port}`;
  const lines = [
    '',
    `${pc.bold('GraphQL')}    ${pc.cyan(`${base}${GRAPHQL_PATH}`)}${config.GRAPHIQL ? '  (GraphiQL in a browser)' : ''}`,
    `${pc.bold('Live feed')}  ${pc.cyan(`${base}/`)}  (clients: graphql-transport-ws or SSE on ${GRAPHQL_PATH})`,
    `${pc.bold('Database')}   ${database.description}`,
    `${pc.bold('Network')}    ${network.name}, custody ${network.custodyAddress}`,
    `${pc.bold('Indexer')}    ${config.INDEXER_URL === undefined ? 'embedded, ' : ''}${indexerUrl}`,
    '',
  ];
  if (config.hasDevelopmentTokens) lines.push(...(await tokenLines(config)), '');
  lines.push(
    `Next: ${pc.bold('npm run demo')} in a second terminal, or open ${pc.cyan(`${base}${GRAPHQL_PATH}`)}.`,
    '',
  );
  return `${lines.join('\n')}\n`;
}

/** What a browser on this machine calls the address that the server listens on. */
function nameOf(host: string): string {
  if (isLoopback(host) || host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
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
