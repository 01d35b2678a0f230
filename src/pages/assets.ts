/**
 * Styles and scripts of the pages: read once, served under names with the hash of their content, so that browsers keep
 * them for a year and never an old one.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { PageAnswer } from '../http/server/pages.ts';

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;
/** Each of one file or of several, one after the other. */
const FILES = {
  'site.css': ['base.css', 'figures.css', 'lists.css', 'certificate.css', 'media.css'],
  'live.js': ['live.js'],
  'verify.js': ['verify.js'],
  'icon.svg': ['icon.svg'],
} as const;
type AssetName = keyof typeof FILES;

const byName = new Map<AssetName, { path: string; answer: PageAnswer }>();
const byPath = new Map<string, PageAnswer>();

for (const [name, files] of Object.entries(FILES) as [AssetName, readonly string[]][]) {
  const body = Buffer.concat(files.map((file) => readFileSync(new URL(`assets/${file}`, import.meta.url))));
  const [stem = '', extension = ''] = name.split('.');
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 12);
  const path = `/assets/${stem}.${hash}.${extension}`;
  const headers = {
    'content-type': TYPES[extension as keyof typeof TYPES],
    'cache-control': 'public, max-age=31536000, immutable',
  };
  const answer = { status: 200, headers, body };
  byName.set(name, { path, answer });
  byPath.set(path, answer);
}

export function assetPath(name: AssetName): string {
  return byName.get(name)?.path ?? '';
}

export function assetAt(path: string): PageAnswer | undefined {
  return byPath.get(path);
}
