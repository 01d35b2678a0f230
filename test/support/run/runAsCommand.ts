/**
 * Runs a command of operators as a process.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathOf } from './programs.ts';
import type { Program } from './programList.ts';

/** @returns the printed text and the exit code */
export async function runAsCommand(
  program: Extract<Program, `src/cli/${string}`>,
  settings: Record<string, string>,
  options: readonly string[] = [],
): Promise<{ code: number; out: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  const env = {
    ...process.env,
    DATA_DIR: folder,
    APP_SECRET: 'an application secret for tests alone',
    // Some environments, such as a CI, force colours.
    NO_COLOR: '1',
    ...settings,
  };
  const ended = await new Promise<{ code: number; out: string }>((resolve) => {
    execFile(process.execPath, [pathOf(program), ...options], { env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out: stdout + stderr }),
    );
  });
  await rm(folder, { recursive: true, force: true });
  return ended;
}
