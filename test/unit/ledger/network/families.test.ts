/**
 * A new network needs one folder and one line: nothing outside of src/ledger/network knows a family by its
 * name, and declarations load no library of a network.
 */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { FAMILIES, familyNamed, familyOf } from '../../../../src/ledger/network/families.ts';

const SRC = fileURLToPath(new URL('../../../../src', import.meta.url));
const NETWORK = join(SRC, 'ledger', 'network');

/** Tools and parts of one family outside of its folder: they serve this family alone and branch on none. */
const OF_ONE_FAMILY = new Set([
  // Only Stellar has channel accounts, and the command shows their funds in XLM.
  'cli/ledgerChannels.ts',
  // Signs for the embedded network, which no other wallet knows, and for a local Stellar network.
  'cli/wallet.ts',
  // Reads the events that the embedded network writes.
  'indexer/embedded/eventLog.ts',
  'indexer/embedded/registrations.ts',
  'indexer/embedded/startEmbeddedIndexer.ts',
]);

async function sourcesOutside(): Promise<{ file: string; text: string }[]> {
  const found = await readdir(SRC, { recursive: true, withFileTypes: true });
  const files = found
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => !file.startsWith(NETWORK));
  return Promise.all(
    files.map(async (path) => ({ file: relative(SRC, path), text: await readFile(path, 'utf8') })),
  );
}

describe('outside of the networks’ folders', () => {
  it('no code has the name of a family or of one of its networks', async () => {
    const names = new Set(FAMILIES.flatMap(({ id, names }) => [id as string, ...names]));
    const literal = new RegExp(`(['"\`])(?:${[...names].join('|')})\\1`);
    const sources = await sourcesOutside();
    expect(sources.length).toBeGreaterThan(200);
    const lines = sources.flatMap(({ file, text }) =>
      text.split('\n').flatMap((line, i) => (literal.test(line) ? [`${file}:${i + 1}: ${line.trim()}`] : [])),
    );
    expect(lines).toEqual([]);
  });

  it('only a family’s own tools import from its folder', async () => {
    const folders = FAMILIES.map(({ id }) => id).join('|');
    const imports = new RegExp(`['"][./]*/(?:ledger/)?network/(?:${folders})/`);
    const importers = (await sourcesOutside())
      .filter(({ text }) => imports.test(text))
      .map(({ file }) => file);
    expect(new Set(importers)).toEqual(OF_ONE_FAMILY);
  });
});

describe('declarations', () => {
  it('load no adapter and no library of a network', async () => {
    const reached = await reachedFrom(join(NETWORK, 'families.ts'));
    const packages = [...reached].filter((name) => !name.startsWith(SRC) && !name.startsWith('node:'));
    // The codec of addresses is the only part of the Stellar libraries, and it is one small file.
    expect(packages.toSorted()).toEqual(['@stellar/stellar-base/lib/strkey.js', 'uuid', 'zod']);
    expect([...reached].filter((name) => name.startsWith(join(SRC, 'db')))).toEqual([]);
    for (const { id } of FAMILIES) {
      expect(reached).toContain(join(NETWORK, id, 'family.ts'));
      expect(reached).not.toContain(join(NETWORK, id, 'network.ts'));
    }
  });

  it('claim no name and no setting twice', () => {
    const names = FAMILIES.flatMap((family) => family.names as readonly string[]);
    const settings = FAMILIES.flatMap((family) => Object.keys(family.settings));
    expect(names).toHaveLength(new Set(names).size);
    expect(settings).toHaveLength(new Set(settings).size);
  });

  it('are found by the names of their networks and by what they configure', () => {
    for (const family of FAMILIES) {
      for (const name of family.names) expect(familyNamed(name)).toBe(family);
      expect(familyOf({ family: family.id })).toBe(family);
    }
    expect(() => familyOf({ family: 'moonbase' })).toThrow('moonbase');
  });
});

/** Modules loaded together with this one by static imports of values. Paths of the project are absolute. */
async function reachedFrom(file: string, seen = new Set<string>()): Promise<Set<string>> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = await readFile(file, 'utf8');
  for (const [, from = ''] of text.matchAll(/^(?:import|export) (?!type\b)[^;]*?from '([^']+)';/gms)) {
    if (from.startsWith('.')) await reachedFrom(join(dirname(file), from), seen);
    else seen.add(from);
  }
  return seen;
}
