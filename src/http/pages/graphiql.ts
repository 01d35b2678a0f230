/**
 * GraphiQL from the npm package, so that the page works offline, with example operations in its tabs and
 * development tokens in its headers.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Role } from '../../identity/roles.ts';
import { isLoopback } from '../../lib/hosts.ts';
import type { GraphiqlExample } from '../../schema/core/example.ts';
import { answerJson } from '../server/answers.ts';
import { isForwarded } from '../server/forwarded.ts';
import { getOrMake } from '../../lib/getOrMake.ts';

type Tokens = Readonly<Partial<Record<Role, string>>>;

interface GraphiqlOptions {
  /** One tab each, in this order, on the first visit; the user's changes to them are kept. */
  examples: readonly GraphiqlExample[];
  /**
   * Bearer tokens by role. Only for a page that was requested by this machine's own host name: a foreign name
   * that resolves here (DNS rebinding) could otherwise read them. The administrator's token is not in the
   * page, which asks for it when its user chooses that role.
   */
  tokens: Tokens;
}

export type GraphiqlPage = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * Only the GraphiQL page sends it: a page of another origin would have to ask the server whether it may send
 * the header.
 */
const TOKEN_HEADER = 'x-development-token';

/** The page is several megabytes, so it is built once, at the first visit, and kept compressed. */
export function createGraphiqlPage({ examples, tokens }: GraphiqlOptions): GraphiqlPage {
  const pages = new Map<boolean, ReturnType<typeof render>>();
  return async (request, response) => {
    const isTrusted = isForThisMachine(request);
    if (request.headers[TOKEN_HEADER] !== undefined) {
      answerJson(response, 200, { token: (isTrusted && tokens.admin) || null });
      return;
    }
    const page = getOrMake(pages, isTrusted, () => render(examples, isTrusted ? tokens : {}));
    const { html, gzipped, policy } = await page.catch((error: unknown) => {
      // A failure may pass, such as too many open files: the next visit builds the page again.
      pages.delete(isTrusted);
      throw error;
    });
    const acceptsGzip = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      vary: 'accept-encoding',
      ...(acceptsGzip ? { 'content-encoding': 'gzip' } : {}),
    });
    response.end(acceptsGzip ? gzipped : html);
  };
}

/** Whether a program of this machine asks, under this machine's own name, and not through a proxy. */
function isForThisMachine(request: IncomingMessage): boolean {
  const { headers, socket } = request;
  // A proxy in front may rewrite Host, and would hand the token to its clients.
  if (isForwarded(request)) return false;
  const name = (headers.host ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  const peer = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  return isLoopback(name) && isLoopback(peer);
}

async function render(examples: readonly GraphiqlExample[], tokens: Tokens) {
  // Nine megabytes of source that a server without GraphiQL never loads.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const [style, script] = await Promise.all(['graphiql.css', 'graphiql.js'].map(readAsset));
  const { admin: _admin, ...shown } = tokens;
  const data = {
    examples: examples.map(({ role, document, variables = {} }) => ({
      name: nameOf(document),
      role,
      document,
      variables,
    })),
    tokens: shown,
    roles: Object.keys(tokens),
  };
  const before = `<style>${style}</style>
<div id="act-as" hidden>
  <label for="role">Development token of this tab:</label><select id="role"></select>
</div>`;
  const after = `<script type="application/json" id="examples">${asScript(data)}</script><script>${script}</script>`;
  const html = renderGraphiQL({
    title: 'Asset token marketplace',
    // For browsers without storage; without default tabs GraphiQL also adds a welcome tab.
    defaultTabs: examples.map(({ document }) => ({ query: document })),
    subscriptionsProtocol: 'SSE',
  })
    .replace('<div id="root"></div>', (root) => before + root + after)
    // The page's script reads and sets the texts of its editors.
    .replace('globalAPI: false', 'globalAPI: true');
  const bytes = Buffer.from(html);
  return { html: bytes, gzipped: await promisify(gzip)(bytes), policy: policyOf(html) };
}

const readAsset = (name: string) => readFile(new URL(`assets/${name}`, import.meta.url), 'utf8');

export function nameOf(document: string): string {
  return /^(?:query|mutation|subscription) (\w+)/m.exec(document)?.[1] ?? '';
}

/**
 * Allows the page's own scripts, by their hashes, and no others. Its editors make style elements and workers.
 * Nothing comes from other hosts.
 */
function policyOf(html: string): string {
  const scripts = [...html.matchAll(/<script>([^]*?)<\/script>/g)].map(
    ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  );
  return [
    "default-src 'none'",
    `script-src ${scripts.join(' ')}`,
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'font-src data:',
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** JSON that can't end its own script element. */
function asScript(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
}
