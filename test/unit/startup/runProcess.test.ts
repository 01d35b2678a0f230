/**
 * The resources that a process has opened are closed once and in order, also when a signal arrives during a
 * start that then fails.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '../../../src/lib/logger.ts';
import { runUntilStopped, type Stops } from '../../../src/startup/runProcess.ts';

const log = createLogger({ level: 'silent', pretty: false });
let exits: unknown[];
let signal: (name: string) => void;

beforeEach(() => {
  exits = [];
  vi.spyOn(process, 'exit').mockImplementation(((code: unknown) => exits.push(code)) as never);
  const handlers = new Map<string | symbol, () => void>();
  vi.spyOn(process, 'on').mockImplementation((name, handler) => {
    handlers.set(name, handler as () => void);
    return process;
  });
  signal = (name) => handlers.get(name)?.();
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** A run with an open database and server that is still starting. */
function startingRun() {
  const closed: string[] = [];
  let drained = () => {};
  let end: (error: Error | null) => void = () => {};
  const stops: Stops = [
    () => Promise.resolve(void closed.push('database')),
    () => {
      closed.push('requests');
      return new Promise<void>((resolve) => (drained = resolve));
    },
  ];
  const run = runUntilStopped(log, (all) => {
    all.push(...stops);
    return new Promise((resolve, reject) => {
      end = (error) => (error === null ? resolve() : reject(error));
    });
  });
  return { closed, run, end: (error: Error | null) => end(error), drained: () => drained() };
}

/** Waits until the continuations of settled promises have run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a signal', () => {
  it('during a start that fails stops what is open once, and the failure ends the process', async () => {
    const { closed, run, end, drained } = startingRun();
    const failed = expect(run).rejects.toThrow('the port is taken');
    signal('SIGTERM');
    end(new Error('the port is taken'));
    await settled();
    expect(closed).toEqual(['requests']);
    drained();
    await failed;
    await settled();
    expect(closed).toEqual(['requests', 'database']);
    expect(exits).toEqual([]);
  });

  it('during a start that succeeds stops what is open after it, and ends the process', async () => {
    const { closed, run, end, drained } = startingRun();
    signal('SIGTERM');
    await settled();
    expect(closed).toEqual([]);
    end(null);
    await run;
    await settled();
    drained();
    await settled();
    expect(closed).toEqual(['requests', 'database']);
    expect(exits).toEqual([0]);
  });
});
