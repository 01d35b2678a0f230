/**
 * The address of a database, which may name several servers:
 * postgres://user:password@first:5432,second:5432/name.
 */

/** The scheme with the credentials, the servers, and the rest. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s;
/** The program chooses the server itself. postgres.js would try another server, which client.ts refuses. */
const OWN_PARAMETERS = ['target_session_attrs'];
const DEFAULT_PORT = 5432;

/** Returns one address for each server, in order; empty when one of them is no address. */
export function serverUrlsOf(url: string): string[] {
  const [, before = '', servers = '', rest = ''] = PARTS.exec(url) ?? [];
  if (before === '') return [];
  const urls = servers.split(',').map((server) => `${before}${server}${rest}`);
  const areNamed = urls.length === 1 || servers.split(',').every((server) => server !== '');
  return areNamed && urls.every((one) => URL.canParse(one)) ? urls.map(withoutOwnParameters) : [];
}

/** `host:port` of each server, separated by commas, for people. */
export function serversOf(url: string): string {
  return serverUrlsOf(url)
    .map((one) => new URL(one).host)
    .join(', ');
}

/** Returns the parts that all servers of the address share. @throws TypeError when it is no address */
export function partsOf(url: string): { database: string; password: string } {
  const { pathname, password } = new URL(serverUrlsOf(url)[0] ?? url);
  return { database: pathname.slice(1), password: decodeURIComponent(password) };
}

/**
 * Options for postgres.js, which takes `[` for the host of an IPv6 address. Its types leave out that both
 * options may be lists.
 * @param url the address of one server
 */
export function endpointOf(url: string): object {
  const { hostname, port } = new URL(url);
  if (!hostname.startsWith('[')) return {};
  return { host: [hostname.slice(1, -1)], port: [Number(port || DEFAULT_PORT)] };
}

function withoutOwnParameters(url: string): string {
  if (!OWN_PARAMETERS.some((name) => url.includes(`${name}=`))) return url;
  const parsed = new URL(url);
  for (const name of OWN_PARAMETERS) parsed.searchParams.delete(name);
  return parsed.href;
}
