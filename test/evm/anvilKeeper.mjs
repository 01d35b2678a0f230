/**
 * Stands between a test and its anvil, so that the node never outlives the test, however that ends: even
 * kill -9 closes this process' standard input. Plain JavaScript, because it should be up at once.
 *
 *   a line of standard input   the name of a signal to pass on to anvil; answered with the same line
 *   the end of standard input  anvil is asked to end, and after a while made to
 *   the first line of output   the port that anvil listens on
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [binary = '', ...options] = process.argv.slice(2);
/** For writing a state file; a node without one ends at once. */
const GRACE_MS = 10_000;

const anvil = spawn(binary, options, { stdio: ['ignore', 'pipe', 'inherit'] });
// All of its output has to be read, or it would wait for that.
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
commands.on('line', (signal) => {
  anvil.kill(/** @type {NodeJS.Signals} */ (signal));
  process.stdout.write(`${signal}\n`);
});
commands.on('close', () => {
  // One that was stopped would never hear of it.
  anvil.kill('SIGCONT');
  anvil.kill('SIGINT');
  setTimeout(() => anvil.kill('SIGKILL'), GRACE_MS).unref();
});

// Whoever reads our output may be gone by now.
process.stdout.on('error', () => {});
// A terminal's Ctrl-C is for the program in front, which ends this one in its own order.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
