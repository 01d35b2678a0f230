/**
 * The fenced blocks of README.md, CONTRIBUTING.md and docs/.
 */
import { readdir, readFile } from 'node:fs/promises';

export interface Block {
  /** File and line. */
  where: string;
  page: string;
  language: string;
  /** The text after the language: "not-run: why". */
  note: string;
  text: string;
}

export const ROOT = new URL('../../../', import.meta.url);

/** Leaves out the reference, which is printed from the contract and has no blocks. */
export async function documentedBlocks(): Promise<Block[]> {
  const docs = (await readdir(new URL('docs', ROOT))).filter((name) => name.endsWith('.md'));
  const pages = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)];
  return (await Promise.all(pages.map(blocksOf))).flat();
}

export async function blocksOf(page: string): Promise<Block[]> {
  const text = await readFile(new URL(page, ROOT), 'utf8');
  // A fence of four backticks may contain fences of three.
  const fences = /^( *)(`{3,4})([\w-]*) ?(.*)\n([^]*?)^ *\2$/gm;
  return [...text.matchAll(fences)].map(
    ([all, indent = '', _fence, language = '', note = '', body = ''], _at) => ({
      where: `${page}:${text.slice(0, text.indexOf(all)).split('\n').length}`,
      page,
      language,
      note,
      text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );
}
