/**
 * The public page at `/`: every retirement, live, for those who would rather look than query. One file without
 * anything from elsewhere; its policy lets exactly its own style and script run.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';

const PAGE = new URL('page/live.html', import.meta.url);

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

/** How a policy names an inline element: by the hash of what stands between its tags. */
function hashOf(html: string, tag: 'style' | 'script'): string {
  const [, content = ''] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html) ?? [];
  return `sha256-${createHash('sha256').update(content).digest('base64')}`;
}
