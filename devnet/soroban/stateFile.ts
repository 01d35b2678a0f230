/**
 * The file that keeps a network between runs. It belongs to one node at a time, which a lock file names.
 */
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';

export interface StateFile {
  /** Undefined when there is no file yet. @throws when the file is not JSON */
  read(): Promise<unknown>;
  /**
   * A process that ends during the write leaves the earlier file.
   * @throws when another node has the file by now
   */
  write(state: unknown): Promise<void>;
  release(): Promise<void>;
}

/** Marks of the nodes in this process, which the process id alone does not distinguish. */
const ownMarks = new Set<string>();

/** @throws when another node has the file */
export async function claimStateFile(path: string): Promise<StateFile> {
  const mark = `${process.pid} ${randomUUID()}`;
  const lock = `${path}.lock`;
  await claim(path, lock, mark);
  ownMarks.add(mark);
  return {
    async read() {
      const text = await textIn(path);
      if (text === null) return undefined;
      try {
        return JSON.parse(text) as unknown;
      } catch (error) {
        throw new Error(unusable(path, 'it is not JSON'), { cause: error });
      }
    },
    async write(state) {
      // The lock was taken for abandoned, or removed by hand, and another node has started: its file must not
      // be overwritten.
      if ((await textIn(lock)) !== mark)
        throw new Error(`The network's file ${path} belongs to another node by now.`);
      await writeFile(`${path}.new`, JSON.stringify(state), { flush: true });
      await rename(`${path}.new`, path);
    },
    async release() {
      ownMarks.delete(mark);
      if ((await textIn(lock)) === mark) await rm(lock, { force: true });
    },
  };
}

export function unusable(path: string, reason: string): string {
  return `The network's file ${path} cannot be used: ${reason}. Remove it to begin a new network.`;
}

async function claim(path: string, lock: string, mark: string): Promise<void> {
  for (const isLast of [false, true]) {
    try {
      return await writeFile(lock, mark, { flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = (await textIn(lock)) ?? '';
    if (isLast || isRunning(holder)) {
      throw new Error(
        `The network's file ${path} is in use by another node. If there is none, remove ${lock} and try again.`,
      );
    }
    // The lock of a process that was killed.
    await rm(lock, { force: true });
  }
}

function isRunning(mark: string): boolean {
  const number = Number(mark.split(' ')[0]);
  if (number === process.pid) return ownMarks.has(mark);
  // An empty lock is being written.
  if (mark === '') return true;
  try {
    return process.kill(number, 0);
  } catch (error) {
    // The process runs, but as another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function textIn(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
