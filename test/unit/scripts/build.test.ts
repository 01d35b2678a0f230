/**
 * A build keeps the files of the build that it replaces, from which a server may run, and removes older ones.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const MONTH_MS = 30 * 24 * 3600 * 1000;
const BUILD = fileURLToPath(new URL('../../../scripts/build.mjs', import.meta.url));

it('leaves what it has made and the files of the build before, which may be a month old', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'build-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const write = async (name: string, ageMs: number) => {
    const path = join(folder, name);
    await writeFile(path, '');
    const at = new Date(Date.now() - ageMs);
    await utimes(path, at, at);
  };
  for (const name of ['main.js', 'reconcile.js', 'chunk-BEFORE.js']) await write(name, MONTH_MS);
  await write('chunk-LONGBEFORE.js', 2 * MONTH_MS);
  await promisify(execFile)(process.execPath, [BUILD, folder]);
  const names = await readdir(folder);
  expect(names).toEqual(expect.arrayContaining(['main.js', 'reconcile.js', 'chunk-BEFORE.js']));
  expect(names).not.toContain('chunk-LONGBEFORE.js');
});
