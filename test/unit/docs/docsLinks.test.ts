/**
 * The targets of references in README, docs and other pages exist: pages, headings, files, npm scripts.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { succeeds } from '../../../src/lib/errors.ts';

interface Reference {
  page: string;
  target: string;
}

const ROOT = new URL('../../../', import.meta.url);
const FOLDERS = ['src', 'devnet', 'test', 'drizzle', 'bench', 'demo', 'scripts', 'docs', 'examples'];

/** The prose of each page, without its fenced blocks, which may show new files. */
const prose = new Map<string, string>();
const headings = new Map<string, Set<string>>();
let files: Set<string>;
let scripts: Record<string, string>;

beforeAll(async () => {
  const names = await Promise.all([
    readdir(ROOT),
    ...FOLDERS.map(async (folder) => {
      const entries = await readdir(new URL(folder, ROOT), { recursive: true });
      return [folder, ...entries.map((name) => `${folder}/${name}`)];
    }),
  ]);
  files = new Set(names.flat());
  const pages = [...files].filter((name) => /^(?:docs\/)?[^/]+\.md$/.test(name));
  await Promise.all(
    pages.map(async (page) => {
      const text = await readFile(new URL(page, ROOT), 'utf8');
      const unfenced = text.replaceAll(/^ *```[^]*?^ *```$/gm, '');
      prose.set(page, unfenced);
      headings.set(page, anchorsOf(unfenced));
    }),
  );
  scripts = (
    JSON.parse(await readFile(new URL('package.json', ROOT), 'utf8')) as { scripts: Record<string, string> }
  ).scripts;
});

/** Anchors as GitHub makes them: the second heading with the same text gets "-1". */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let more = 1; anchors.has(anchor); more++) anchor = `${slug}-${more}`;
    anchors.add(anchor);
  }
  return anchors;
}

function referencesIn(pattern: RegExp): Reference[] {
  return [...prose].flatMap(([page, text]) =>
    [...text.matchAll(pattern)].map(([, target = '']) => ({ page, target })),
  );
}

const code = () => referencesIn(/(?<!`)`([^`\n]+)`(?!`)/g);

it('links lead to a file, and to a heading in it', async () => {
  const links = referencesIn(/\]\(([^)\s]+)\)/g).filter(({ target }) => !/^[a-z]+:/.test(target));
  expect(links.length).toBeGreaterThan(20);
  const broken = await Promise.all(
    links.map(async ({ page, target }) => {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : posix.join(posix.dirname(page), path);
      const exists = await succeeds(stat(new URL(file, ROOT)));
      const hasAnchor = anchor === undefined || headings.get(file)?.has(anchor) === true;
      return exists && hasAnchor ? [] : [`${page}: ${target}`];
    }),
  );
  expect(broken.flat()).toEqual([]);
});

it('files and folders that are named exist', () => {
  const isPath = new RegExp(`^(?:${FOLDERS.join('|')})/[\\w./-]*$`);
  const paths = code().filter(({ target }) => isPath.test(target));
  const names = code().filter(({ target }) => /^[\w.-]+\.(?:ts|sql|sol|mjs)$/.test(target));
  expect(paths.length).toBeGreaterThan(20);
  const known = new Set([...files].map((file) => posix.basename(file)));
  const missing = [
    ...paths.filter(({ target }) => !files.has(target.replace(/\/$/, ''))),
    ...names.filter(({ target }) => !known.has(target)),
  ];
  expect(missing).toEqual([]);
});

it('npm scripts that are named exist', () => {
  const runs = code().flatMap(({ page, target }) => {
    const [, name] = /^npm run (?:-s )?([\w:-]+)/.exec(target) ?? [];
    return name === undefined ? [] : [{ page, target: name }];
  });
  expect(runs.length).toBeGreaterThan(10);
  expect(runs.filter(({ target }) => scripts[target] === undefined)).toEqual([]);
});

it('every page of docs is in its index', () => {
  const index = prose.get('docs/README.md') ?? '';
  const pages = [...prose.keys()].filter((page) => page.startsWith('docs/') && page !== 'docs/README.md');
  expect(pages.filter((page) => !index.includes(`](${posix.basename(page)}`))).toEqual([]);
});
