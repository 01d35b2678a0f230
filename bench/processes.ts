/**
 * Starts the measured processes, watches them through /proc, and stops them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { open, readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../src/db/embedded/freePort.ts';
import { onlyWith } from '../devnet/runToEnd.ts';

/** A server that takes longer to start is broken. */
const START_TIMEOUT_MS = 120_000;
const POLL_INTERVAL_MS = 20;
const STOP_TIMEOUT_MS = 30_000;
/** How much of the log of a failed start is shown. */
const SHOWN_CHARACTERS = 2_000;

export interface ServerProcess {
  pid: number;
  port: number;
  url: string;
  /** Time from the start of the process to its first response that says it is ready. */
  readyAfterMs: number;
  stop(): Promise<void>;
}

interface ServerOptions {
  /** Compiled program: relative to the project's folder, or absolute. */
  program: string;
  env: Readonly<Record<string, string>>;
  /** File that receives the output, as an operator would keep it. */
  logFile: string;
}

/**
 * Starts the program on a free port; its path /readyz responds with 200 once it can serve.
 * @throws with the end of the log when the server does not become ready
 */
export async function startServer({ program, env, logFile }: ServerOptions): Promise<ServerProcess> {
  const port = await freePort();
  const log = await open(logFile, 'a');
  const startedMs = performance.now();
  const child = spawn(process.execPath, [program], {
    env: onlyWith({ ...env, PORT: String(port) }),
    stdio: ['ignore', log.fd, log.fd],
  });
  await log.close();
  const url = `http://127.0.0.1:${port}`;
  await awaitReady(child, `${url}/readyz`, startedMs).catch(async (error: unknown) => {
    child.kill('SIGKILL');
    const written = (await readFile(logFile, 'utf8')).slice(-SHOWN_CHARACTERS);
    throw new Error(`${program} did not start: ${written}`, { cause: error });
  });
  if (child.pid === undefined) throw new Error(`${program} has no process id`);
  return {
    pid: child.pid,
    port,
    url,
    readyAfterMs: performance.now() - startedMs,
    stop: () => stop(child),
  };
}

async function awaitReady(child: ChildProcess, url: string, startedMs: number): Promise<void> {
  while (performance.now() - startedMs < START_TIMEOUT_MS) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    const isReady = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    );
    if (isReady) return;
    await delay(POLL_INTERVAL_MS);
  }
  throw new Error('it took too long');
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}

/** Processor time of a process with its threads, in milliseconds, as exact as the scheduler's clock. */
export async function cpuMsOf({ pid }: Pick<ServerProcess, 'pid'>): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const each = await Promise.all(threads.map((thread) => threadMsOf(pid, thread)));
  return each.reduce((total, ms) => total + ms, 0);
}

/** Processor time of a process's main thread, in milliseconds. */
export function mainThreadMsOf({ pid }: Pick<ServerProcess, 'pid'>): Promise<number> {
  return threadMsOf(pid, pid);
}

async function threadMsOf(pid: number, thread: number | string): Promise<number> {
  const [nanoseconds] = (await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')).split(' ');
  return Number(nanoseconds) / 1e6;
}

/** Resident memory of a process, in MB. */
export async function residentMbOf({ pid }: Pick<ServerProcess, 'pid'>): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}
