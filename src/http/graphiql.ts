/**
 * GraphiQL from the package alone, so that the page works without the internet, with example operations
 * in its tabs and a development token in its headers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isLoopback } from '../privateHost.ts';
import { tabsScript } from './graphiqlTabs.ts';

export interface GraphiqlOptions {
  /** Documents, one tab each, in this order, on the first visit; what the person makes of them is kept. */
  examples: readonly string[];
  /**
   * Put into the headers of each tab as a bearer token; null leaves them empty. Only for a page that was asked for
   * by this machine's own name: a name of somebody's that was made to point here would read it otherwise.
   */
  token: string | null;
}

export type GraphiqlPage = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** GraphiQL's tabs can be dragged, and jump away under a mere click, which then misses them. */
const STILL_TABS = '.graphiql-tab { transform: none !important }';

/** The page is several megabytes, so it is made once, at the first visit, and kept compressed. */
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

function isForThisMachine({ headers: { host = '' } }: IncomingMessage): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return isLoopback(name);
}

async function render({ examples, token }: GraphiqlOptions) {
  // Nine megabytes of source that a server without GraphiQL never loads.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const headers = token === null ? '{}' : JSON.stringify({ authorization: `Bearer ${token}` }, null, 2);
  const html = renderGraphiQL({
    title: 'Asset token marketplace',
    headers,
    // For browsers that keep nothing; and without them GraphiQL would add a tab with a greeting.
    defaultTabs: examples.map((query) => ({ query, headers })),
    subscriptionsProtocol: 'SSE',
  }).replace(
    '<div id="root"></div>',
    (root) => `<style>${STILL_TABS}</style>${root}<script>${tabsScript(examples, headers)}</script>`,
  );
  const bytes = Buffer.from(html);
  return { html: bytes, gzipped: await promisify(gzip)(bytes) };
}
