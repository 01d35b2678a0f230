/**
 * Runs between a test and its anvil, so that the node never outlives the test: even kill -9 closes this
 * process's standard input. Plain JavaScript, for a fast start.
 *
 *   a line of standard input   the name of a signal to pass on to anvil; answered with the same line,
 *                              for SIGSTOP and SIGCONT when the signal is in force
 *   the end of standard input  anvil is asked to end, and killed after a while
 *   the first line of output   the port on which anvil listens
 */
import { execFile, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const [binary = '', ...options] = process.argv.slice(2);
/** Time to write a state file; a node without one ends immediately. */
const GRACE_MS = 10_000;

const anvil = spawn(binary, options, { stdio: ['ignore', 'pipe', 'inherit'] });
// All output has to be read, because anvil blocks on unread output.
createInterface({ input: anvil.stdout }).on('line', (line) => {
  const [, port] = /^Listening on .*:(\d+)$/.exec(line) ?? [];
  if (port !== undefined) process.stdout.write(`${port}\n`);
});
anvil.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
anvil.on('exit', (code) => process.exit(code ?? 0));

const commands = createInterface({ input: process.stdin });
commands.on('line', (signal) => void pass(signal));

/** Passes a signal on, and answers once it has taken effect. @param {string} signal */
async function pass(signal) {
  anvil.kill(/** @type {NodeJS.Signals} */ (signal));
  const isStopped = { SIGSTOP: true, SIGCONT: false }[signal];
  // The kernel stops a process thread by thread: until the last one is stopped, the node may still answer.
  while (isStopped !== undefined && anvil.exitCode === null && (await stopped()) !== isStopped)
    await delay(5);
  process.stdout.write(`${signal}\n`);
}

/** Whether every thread of anvil is stopped; on systems without visible threads, whether the process is. */
async function stopped() {
  const tasks = `/proc/${anvil.pid}/task`;
  const states =
    process.platform === 'linux'
      ? (await Promise.all((await readdir(tasks)).map(stateOf))).filter((state) => state !== null)
      : [(await promisify(execFile)('ps', ['-o', 'state=', '-p', String(anvil.pid)])).stdout.trim()];
  return states.every((state) => state.startsWith('T'));

  /** @param {string} task its name is in parentheses and may hold anything; null when it has ended */
  async function stateOf(task) {
    const stat = await readFile(`${tasks}/${task}/stat`, 'utf8').catch(() => null);
    return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2);
  }
}
commands.on('close', () => {
  // A stopped process would not receive the signal.
  anvil.kill('SIGCONT');
  anvil.kill('SIGINT');
  setTimeout(() => anvil.kill('SIGKILL'), GRACE_MS).unref();
});

// The reader of this output may have ended.
process.stdout.on('error', () => {});
// Ctrl-C in a terminal is for the parent, which ends this process in its own order.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
