/**
 * Styles and scripts of the pages: read once, served under names with the hash of their content, so that
 * browsers keep them for a year and never use an old version.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { PageAnswer } from '../http/server/pages.ts';

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;
/** Each served file consists of one or several files, one after the other. */
const FILES = {
  'site.css': ['base.css', 'figures.css', 'lists.css', 'certificate.css', 'console.css', 'media.css'],
  'icon.svg': ['icon.svg'],
} as const;
type FileName = keyof typeof FILES;
/**
 * Modules import each other by relative addresses, so the name of their folder has one hash over all of them.
 */
const SCRIPTS = 'scripts';
export type Script = 'live.js' | 'verify.js' | 'console/main.js';

const pathByName = new Map<FileName | Script, string>();
const byPath = new Map<string, PageAnswer>();

for (const [name, files] of Object.entries(FILES) as [FileName, readonly string[]][]) {
  const body = Buffer.concat(files.map(read));
  const [stem = '', extension = ''] = name.split('.');
  keep(name, `/assets/${stem}.${hashOf([body])}.${extension}`, body);
}

const scripts = readdirSync(new URL(`assets/${SCRIPTS}`, import.meta.url), { recursive: true })
  .map((name) => String(name).replaceAll('\\', '/'))
  .filter((name) => name.endsWith('.js'))
  .sort()
  .map((name) => [name as Script, read(`${SCRIPTS}/${name}`)] as const);
const scriptsHash = hashOf(
  scripts.flatMap(([name, body]) => [Buffer.from(`${name}\n${body.length}\n`), body]),
);
for (const [name, body] of scripts) keep(name, `/assets/${SCRIPTS}.${scriptsHash}/${name}`, body);

function read(file: string): Buffer {
  return readFileSync(new URL(`assets/${file}`, import.meta.url));
}

function hashOf(parts: readonly Buffer[]): string {
  return createHash('sha256').update(Buffer.concat(parts)).digest('hex').slice(0, 12);
}

function keep(name: FileName | Script, path: string, body: Buffer): void {
  const headers = {
    'content-type': TYPES[path.slice(path.lastIndexOf('.') + 1) as keyof typeof TYPES],
    'cache-control': 'public, max-age=31536000, immutable',
  };
  pathByName.set(name, path);
  byPath.set(path, { status: 200, headers, body });
}

export function assetPath(name: FileName | Script): string {
  return pathByName.get(name) ?? '';
}

export function assetAt(path: string): PageAnswer | undefined {
  return byPath.get(path);
}
