/**
 * Runs a server as a process: an ordered stop on a signal, and a start that fails with one sentence.
 */
import { isRunByNpm } from '../config/config.ts';
import type { Logger } from '../lib/logger.ts';
import { StartupError } from '../lib/startupErrors.ts';
import { explainStartupError } from './explainStartupError.ts';

/** Functions that close what has been opened, newest last; they run in the opposite order. */
export type Stops = (() => Promise<void>)[];

/** A stop that takes longer hangs. The database recovers from work that is cut off then. */
const STOP_TIMEOUT_MS = 30_000;
const PARENT_CHECK_MS = 500;
/** A resource that can't be closed must not keep a failed start alive. */
const EXIT_GRACE_MS = 1000;

/** Ends the process with a sentence for a known cause of failure, and with the stack trace of a defect. */
export async function runProcess(main: () => Promise<void>): Promise<void> {
  for (const output of [process.stdout, process.stderr]) output.on('error', ignore);
  try {
    await main();
  } catch (error) {
    const sentence = explainStartupError(error);
    process.stderr.write(`${sentence ?? String(error instanceof Error ? error.stack : error)}\n`);
    process.exitCode = 1;
    setTimeout(() => process.exit(1), EXIT_GRACE_MS).unref();
  }
}

/** Ignores a full disk or a closed reader: a log that can't be written does not stop the server. */
function ignore(): void {}

/** Closes what `start` has opened, on a signal or when the start fails. */
export async function runUntilStopped(log: Logger, start: (stops: Stops) => Promise<void>): Promise<void> {
  const stops: Stops = [];
  const started = start(stops).catch(async (error: unknown) => {
    await stopAll(stops);
    throw error;
  });
  stopOnDemand(async () => {
    // A half-open start can't be closed. A start that fails closes what it has opened, and ends the process
    // with its own exit code.
    await started.catch(() => new Promise<never>(() => {}));
    await stopAll(stops);
  }, log);
  await started;
}

/**
 * Stops on a signal, or after an uncaught defect: the state is unknown then, and a new process recovers it.
 */
function stopOnDemand(stop: () => Promise<void>, log: Logger): void {
  let isStopping = false;
  const stopWith = (exitCode: number) => {
    // Ctrl-C in a terminal sends the signal twice, directly and through npm.
    if (isStopping) return;
    isStopping = true;
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
    stop().then(
      () => process.exit(exitCode),
      (err: unknown) => {
        log.error({ err }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      log.info({ signal }, 'stopping');
      stopWith(0);
    });
  }
  if (isRunByNpm()) {
    onParentGone(() => {
      log.info('stopping: npm, which ran this, has ended');
      stopWith(0);
    });
  }
  process.on('uncaughtException', (err) => {
    log.fatal(
      { err },
      err instanceof StartupError ? err.message : 'stopping after a defect that nothing caught',
    );
    stopWith(1);
  });
}

/** npm passes a SIGTERM to the shell in between, which ends and does not pass the signal on. */
function onParentGone(callback: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, PARENT_CHECK_MS).unref();
}

async function stopAll(stops: Stops): Promise<void> {
  for (let stop = stops.pop(); stop; stop = stops.pop()) await stop();
}
