/**
 * Proves that the data of a run is correct: runs `npm run reconcile` on its database.
 */
import { execFile } from 'node:child_process';
import type { Reconciled } from './bench.ts';
import { productEnvironment, type Secrets } from './product.ts';

const TIMEOUT_MS = 30 * 60_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

export function reconcileDatabase(
  database: string,
  databaseUrl: string,
  secrets: Secrets,
  folder: string,
): Promise<Reconciled> {
  const startedMs = performance.now();
  const environment = productEnvironment({ secrets, databaseUrl, folder, database });
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['build/reconcile.js'],
      {
        env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...environment },
        timeout: TIMEOUT_MS,
        maxBuffer: MAX_OUTPUT_BYTES,
      },
      (error, stdout, stderr) => {
        resolve({
          database,
          holds: error === null,
          seconds: (performance.now() - startedMs) / 1000,
          output: `${stdout}${stderr}`,
        });
      },
    );
  });
}
