/**
 * The public page at `/`: every retirement, live. One file without external resources; its content security policy
 * allows exactly its own style and script.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';

const PAGE = new URL('live.html', import.meta.url);

let page: Promise<{ html: Buffer; policy: string }> | undefined;

export async function answerLivePage(response: ServerResponse): Promise<void> {
  page ??= load();
  const { html, policy } = await page;
  response.setHeader('content-security-policy', policy);
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': html.length });
  response.end(html);
}

async function load() {
  const html = await readFile(PAGE);
  const text = html.toString();
  const policy = [
    "default-src 'none'",
    "connect-src 'self'",
    `style-src '${hashOf(text, 'style')}'`,
    `script-src '${hashOf(text, 'script')}'`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { html, policy };
}

/** The policy's source for an inline element: the hash of its text. */
function hashOf(html: string, tag: 'style' | 'script'): string {
  const [, content = ''] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html) ?? [];
  return `sha256-${createHash('sha256').update(content).digest('base64')}`;
}
