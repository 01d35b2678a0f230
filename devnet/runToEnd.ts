/**
 * Runs a compiled program as a process with only the settings that it is given.
 */
import { execFile } from 'node:child_process';

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** An environment without this process's own: npm's variables would make the product watch its parent. */
export function onlyWith(settings: Readonly<Record<string, string>>): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...settings };
}

/** A program that is stopped after `timeoutMs` ends with 1. */
export function runToEnd(
  program: string,
  settings: Readonly<Record<string, string>>,
  timeoutMs: number,
): Promise<{ exitCode: number; output: string }> {
  const options = { env: onlyWith(settings), timeout: timeoutMs, maxBuffer: MAX_OUTPUT_BYTES };
  return new Promise((resolve) => {
    execFile(process.execPath, [program], options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ exitCode, output: `${stdout}${stderr}` });
    });
  });
}
