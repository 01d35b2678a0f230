/**
 * Use cases, and the hooks that call them, name the few dependencies that they take, never all of them. The
 * types count the members (`Needs`); this test reads the sources for signatures that avoid the count.
 */
import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Needs, TooManyNeeds } from '../../../../src/resolvers/core/dependencies.ts';

const SRC = new URL('../../../../src/', import.meta.url);
const DEFINITION = 'resolvers/core/dependencies.ts';

async function sources(): Promise<string[]> {
  const folders = await Promise.all(
    ['resolvers', 'webhooks', 'jobs'].map(async (folder) =>
      (await readdir(new URL(folder, SRC), { recursive: true })).map((name) => `${folder}/${name}`),
    ),
  );
  return folders.flat().filter((path) => path.endsWith('.ts') && path !== DEFINITION);
}

/** The whole `Dependencies`, and sums of sets whose members are not counted together. */
const WIDE = [
  /\bimport\b[^;]*\bDependencies\b[^;]*\/core\/dependencies\.ts/,
  /\bNeeds<[^;=]*?>\s*&\s*\w*Needs\b/,
];

const isWide = (source: string) => WIDE.some((pattern) => pattern.test(source));

describe('what a use case takes', () => {
  it('is at most seven members of Dependencies', () => {
    type Seven = 'db' | 'network' | 'clock' | 'ids' | 'saltKey' | 'stateSignal' | 'mutationWaitMs';
    type IsRefused<Set> = Set extends TooManyNeeds ? true : false;
    // The compiler checks this: with another count these values do not have their types.
    const refused: [IsRefused<Needs<Seven>>, IsRefused<Needs<Seven | 'ramp'>>] = [false, true];
    expect(refused).toEqual([false, true]);
  });

  it('is named by Needs, never the whole Dependencies nor a sum that is not counted', async () => {
    const paths = await sources();
    expect(paths.length).toBeGreaterThan(40);
    const read = await Promise.all(
      paths.map(async (path) => ({ path, source: await readFile(new URL(path, SRC), 'utf8') })),
    );
    expect(read.filter(({ source }) => isWide(source)).map(({ path }) => path)).toEqual([]);
  });

  it.each([
    "import type { Dependencies } from '../core/dependencies.ts';",
    "import {\n  type Dependencies,\n  type Needs,\n} from '../core/dependencies.ts';",
    "deps: Needs<'db' | 'network'> & Needs<'ramp'>,",
    "type RetireNeeds = Needs<'db'> & HoldNeeds;",
  ])('recognizes %s', (source) => {
    expect(isWide(source)).toBe(true);
  });
});
