/**
 * `npm run expire`: marks every due receipt expired now, as the nightly job does. `--dry-run` only lists
 * them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import pc from 'picocolors';
import type { Platform } from '../startup/compose.ts';
import { previewExpiry } from '../jobs/dueReceipts.ts';
import { countRun, findRun, listFailures, requestRun, type ExpiryCounts } from '../jobs/expiryRuns.ts';
import { awaitReorgConfirmation } from '../ledger/network/continuity.ts';
import { StartupError } from '../lib/startupErrors.ts';
import { runCommand } from './runCommand.ts';
import { withPlatform } from './withPlatform.ts';

const POLL_INTERVAL_MS = 250;
/** How long the command follows the run; the run continues without it. */
const PATIENCE_MS = 10 * 60_000;

const command = new Command('expire')
  .description("Marks every receipt that has passed its expiry date, by the network's clock, as EXPIRED.")
  .option('--dry-run', 'only say which receipts are due')
  .action(({ dryRun = false }: { dryRun?: boolean }) =>
    dryRun ? withPlatform(preview) : withPlatform(expire, { signs: true }),
  );

await runCommand(command);

async function preview({ dependencies }: Platform): Promise<void> {
  await awaitReorgConfirmation(dependencies.network);
  let due = 0;
  for await (const { receipt, answer } of previewExpiry(dependencies)) {
    const result =
      !answer || 'error' in answer
        ? pc.red(answer?.error.message ?? 'no answer')
        : answer.isExpired
          ? 'due'
          : 'not due by the network';
    process.stdout.write(`${receipt.tokenAddress}  ${result}\n`);
    due += 1;
  }
  process.stdout.write(`${due} receipts have passed their date; nothing was changed.\n`);
}

async function expire(platform: Platform): Promise<void> {
  const { dependencies } = platform;
  await awaitReorgConfirmation(dependencies.network);
  const request = { trigger: 'MANUAL', night: null, requestedBy: 'npm run expire' } as const;
  const run = await requestRun(dependencies, request);
  if (!run) throw new Error('a run by hand was not recorded');
  // This process sweeps the run and sends its intents. A server on the same database helps, and goes on when
  // this process has ended.
  platform.expiryWorker.start();
  platform.submissionWorker.start();
  const bar = new SingleBar({ format: 'expiring {bar} {value}/{total} receipts', clearOnComplete: true });
  if (process.stdout.isTTY) bar.start(0, 0);
  const counts = await followRun(platform, run.id, bar).finally(() => bar.stop());
  await print(platform, run.id, counts);
}

/** @throws StartupError when the sweep has failed, or takes too long: servers go on with it */
async function followRun(platform: Platform, runId: string, bar: SingleBar): Promise<ExpiryCounts> {
  const { dependencies } = platform;
  for (let waitedMs = 0; ; waitedMs += POLL_INTERVAL_MS) {
    // Read before its items, which stay as they are once the run has ended.
    const run = await findRun(dependencies, runId);
    const counts = await countRun(dependencies, runId);
    bar.setTotal(counts.examined);
    bar.update(counts.examined - counts.pending);
    const isOver = waitedMs >= PATIENCE_MS;
    const problem = run?.problem ?? (isOver && run?.sweptAt == null ? 'it takes over ten minutes' : null);
    if (problem !== null) {
      throw new StartupError(`The due receipts are not all examined, and a server has to go on: ${problem}`);
    }
    if (run?.endedAt != null || isOver) return counts;
    await delay(POLL_INTERVAL_MS);
  }
}

async function print({ dependencies }: Platform, runId: string, counts: ExpiryCounts): Promise<void> {
  const failures = (await listFailures(dependencies, [runId])).get(runId) ?? [];
  for (const { receiptId, message } of failures) {
    process.stdout.write(`${pc.red('failed')}  receipt ${receiptId}: ${message}\n`);
  }
  const { examined, expired, failed, notDue, pending } = counts;
  process.stdout.write(
    `${examined} receipts examined: ${expired} expired, ${failed} failed, ${notDue} not due by the network` +
      `${pending > 0 ? `, ${pending} still under way` : ''}\n`,
  );
  process.exitCode = failed > 0 ? 1 : 0;
}
