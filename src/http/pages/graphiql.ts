/**
 * GraphiQL from the npm package, so that the page works offline, with example operations in its tabs and a
 * development token in its headers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isLoopback } from '../../lib/privateHost.ts';
import { tabsScript } from './graphiqlTabs.ts';

interface GraphiqlOptions {
  /** Documents, one tab each, in this order, on the first visit; the user's changes to them are kept. */
  examples: readonly string[];
  /**
   * The bearer token in the headers of each tab; null leaves them empty. Only for a page that was requested by this
   * machine's own host name: a foreign name that resolves here (DNS rebinding) could otherwise read it.
   */
  token: string | null;
}

export type GraphiqlPage = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** GraphiQL's tabs can be dragged, and move under a plain click, which then misses them. */
const STILL_TABS = '.graphiql-tab { transform: none !important }';

/** The page is several megabytes, so it is built once, at the first visit, and kept compressed. */
export function createGraphiqlPage(options: GraphiqlOptions): GraphiqlPage {
  const pages = new Map<string | null, ReturnType<typeof render>>();
  return async (request, response) => {
    const token = isForThisMachine(request) ? options.token : null;
    const page = pages.get(token) ?? render({ ...options, token });
    pages.set(token, page);
    const { html, gzipped } = await page;
    const acceptsGzip = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    response.removeHeader('content-security-policy');
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      vary: 'accept-encoding',
      ...(acceptsGzip ? { 'content-encoding': 'gzip' } : {}),
    });
    response.end(acceptsGzip ? gzipped : html);
  };
}

/** What proxies add: one in front of this machine may rewrite Host, and would hand the token to its clients. */
const FORWARDING_HEADERS = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];

/** Asked by a program of this machine, under this machine's own name, and not through a proxy. */
function isForThisMachine({ headers, socket }: IncomingMessage): boolean {
  if (FORWARDING_HEADERS.some((name) => headers[name] !== undefined)) return false;
  const name = (headers.host ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  const peer = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  return isLoopback(name) && isLoopback(peer);
}

async function render({ examples, token }: GraphiqlOptions) {
  // Nine megabytes of source that a server without GraphiQL never loads.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const headers = token === null ? '{}' : JSON.stringify({ authorization: `Bearer ${token}` }, null, 2);
  const html = renderGraphiQL({
    title: 'Asset token marketplace',
    headers,
    // For browsers without storage; without default tabs GraphiQL also adds a welcome tab.
    defaultTabs: examples.map((query) => ({ query, headers })),
    subscriptionsProtocol: 'SSE',
  }).replace(
    '<div id="root"></div>',
    (root) => `<style>${STILL_TABS}</style>${root}<script>${tabsScript(examples, headers)}</script>`,
  );
  const bytes = Buffer.from(html);
  return { html: bytes, gzipped: await promisify(gzip)(bytes) };
}
