/**
 * GraphiQL from the package alone, so that the page works without the internet, with example operations
 * in its tabs and a development token in its headers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface GraphiqlOptions {
  /** Documents, one tab each, in this order; shown on the first visit. */
  examples: readonly string[];
  /** Put into the headers of each tab as a bearer token; null leaves them empty. */
  token: string | null;
}

export type GraphiqlPage = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** GraphiQL's tabs can be dragged, and jump away under a mere click, which then misses them. */
const STILL_TABS = '.graphiql-tab { transform: none !important }';

/** Where GraphiQL keeps its tabs in the browser. */
const TABS_KEY = 'graphiql:tabState';

/** The page is several megabytes, so it is made once, at the first visit, and kept compressed. */
export function createGraphiqlPage(options: GraphiqlOptions): GraphiqlPage {
  let page: Promise<{ html: Buffer; gzipped: Buffer }> | undefined;
  return async (request, response) => {
    page ??= render(options);
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

async function render({ examples, token }: GraphiqlOptions) {
  // Nine megabytes of source that a server without GraphiQL never loads.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const headers = token === null ? '{}' : JSON.stringify({ authorization: `Bearer ${token}` }, null, 2);
  const html = renderGraphiQL({
    title: 'Asset token marketplace',
    headers,
    // Without variables: GraphiQL leaves the variables of its first tab out of the editor.
    defaultTabs: examples.map((query) => ({ query, headers })),
    shouldPersistHeaders: false,
    subscriptionsProtocol: 'SSE',
    // GraphiQL keeps tabs between visits, but not their headers: give them today's token.
  }).replace(
    '<div id="root"></div>',
    () => `<style>${STILL_TABS}</style><div id="root"></div><script>${refreshHeaders(headers)}</script>`,
  );
  const bytes = Buffer.from(html);
  return { html: bytes, gzipped: await promisify(gzip)(bytes) };
}

function refreshHeaders(headers: string): string {
  return `try {
    const state = JSON.parse(localStorage.getItem('${TABS_KEY}'));
    for (const tab of state.tabs) tab.headers = ${JSON.stringify(headers)};
    localStorage.setItem('${TABS_KEY}', JSON.stringify(state));
  } catch {}`;
}
