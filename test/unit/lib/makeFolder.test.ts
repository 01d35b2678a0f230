/**
 * Folders are made with those above them, or the system's own error says why not.
 */
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeFolder } from '../../../src/lib/makeFolder.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'folder-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('makes what is missing above as well, once and again, also several at a time', async () => {
  const path = join(folder, 'a/b/c');
  await Promise.all([makeFolder(path), makeFolder(path), makeFolder(path)]);
  await makeFolder(path);
  expect((await stat(path)).isDirectory()).toBe(true);
});

it('takes no file for a folder', async () => {
  await writeFile(join(folder, 'file'), '');
  await expect(makeFolder(join(folder, 'file'))).rejects.toMatchObject({ code: 'EEXIST', syscall: 'mkdir' });
  await expect(makeFolder(join(folder, 'file/below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

it.runIf(process.platform === 'linux')('ends where nothing can be made', async () => {
  for (const path of ['/proc/folder', '/proc/folder/below']) {
    await expect(makeFolder(path)).rejects.toMatchObject({ code: 'ENOENT', syscall: 'mkdir' });
  }
});
