/**
 * Log output that accepts nothing: a full disk, a reader that has stopped or ended. The process goes on with
 * bounded memory.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLogOutput } from '../../../src/lib/logOutput.ts';

type Outcome = number | 'ENOSPC' | 'EAGAIN' | 'EPIPE';

/** A file whose next writes end as `outcomes` say: bytes taken, or an error. Later writes are taken whole. */
function openOn(outcomes: Outcome[], maxWaitingBytes?: number) {
  const written: string[] = [];
  const onLost = vi.fn<(lines: number) => void>();
  const output = createLogOutput({
    fd: 1,
    onLost,
    ...(maxWaitingBytes !== undefined && { maxWaitingBytes }),
    writeAsync(_, bytes, done) {
      const outcome = outcomes.shift() ?? bytes.length;
      setImmediate(() => {
        if (typeof outcome === 'string') return done(Object.assign(new Error(outcome), { code: outcome }), 0);
        written.push(bytes.toString('utf8', 0, outcome));
        done(null, outcome);
      });
    },
  });
  return { output, onLost, text: () => written.join('') };
}

describe('an output of the log', () => {
  it.each(['ENOSPC', 'EAGAIN'] as const)('gets each line once, in order, after %s', async (refusal) => {
    const { output, onLost, text } = openOn([refusal, 3, refusal]);
    output.write('first\n');
    output.write('second\n');
    await vi.waitFor(() => expect(text()).toBe('first\nsecond\n'));
    output.write('third\n');
    await vi.waitFor(() => expect(text()).toBe('first\nsecond\nthird\n'));
    expect(onLost).not.toHaveBeenCalled();
  });

  it('that takes nothing for long is told how many lines it has lost', async () => {
    const { output, onLost, text } = openOn(['ENOSPC'], 13);
    output.write('first\n');
    for (const line of ['second\n', 'third\n', 'fourth\nfifth\n']) output.write(line);
    await vi.waitFor(() => expect(text()).toBe('first\nsecond\n'));
    expect(onLost.mock.calls).toEqual([[3]]);
  });

  it('whose reader is gone is written to no more', async () => {
    const { output, text } = openOn(['EPIPE']);
    output.write('first\n');
    await delay(50);
    output.write('second\n');
    await delay(50);
    expect(text()).toBe('');
  });
});

/** A process that logs `lines` lines of a kilobyte, prints its memory use to stderr, and exits. */
const program = (lines: number, begin = '') => `
  const { createLogger } = await import(${JSON.stringify(new URL('../../../src/lib/logger.ts', import.meta.url).href)});
  const log = createLogger({ level: 'info', pretty: false });
  ${begin}
  for (let i = 0; i < ${lines}; i++) {
    log.info({ text: 'x'.repeat(1000) }, 'said');
    if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  const { rss } = process.memoryUsage();
  process.stderr.write('memory ' + Math.round(rss / 2 ** 20), () => process.exit(3));`;

async function ended(child: ChildProcess): Promise<{ code: number | null; said: string }> {
  let said = '';
  child.stderr?.on('data', (text: Buffer) => (said += text.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  return { code, said };
}

const given = (...args: Parameters<typeof program>) =>
  '--import tsx --input-type=module --eval'.split(' ').concat(program(...args));

describe('an exit', () => {
  it.runIf(process.platform !== 'win32')('leaves a pipe all lines, whole and in order', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'log-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const [pipe, copy] = [join(folder, 'pipe'), join(folder, 'copy')];
    await promisify(execFile)('mkfifo', [pipe]);
    const reader = spawn('sh', ['-c', `cat '${pipe}' > '${copy}'`]);
    const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    const read = () => readFile(copy, 'utf8').catch(() => '');
    const output = createLogOutput({ fd, onLost: () => expect.unreachable(), unblock: () => {} });
    output.write('begun\n');
    await vi.waitFor(async () => expect(await read()).toBe('begun\n'), 20_000);
    // More than a pipe takes at a time, so that its rest is still to be written.
    const long = `${'x'.repeat(1_000_000)}\n`;
    output.write(long);
    output.write('waits\n');
    output.beginExit();
    output.write('last\n');
    const ended = once(reader, 'exit');
    closeSync(fd);
    await ended;
    expect((await read()) === `begun\n${long}waits\nlast\n`).toBe(true);
  });
});

describe('a process', () => {
  it.runIf(process.platform === 'linux')('goes on when the disk of its log is full', async () => {
    const full = await open('/dev/full', 'w');
    const child = spawn(process.execPath, given(10), { stdio: ['ignore', full.fd, 'pipe'] });
    await full.close();
    expect(await ended(child)).toMatchObject({ code: 3, said: expect.stringMatching(/^memory/) as string });
  });

  it('goes on in bounded memory, and exits, when the reader of its log has stopped', async () => {
    const child = spawn(process.execPath, given(200_000), { stdio: ['ignore', 'pipe', 'pipe'] });
    const { code, said } = await ended(child);
    expect(code).toBe(3);
    expect(Number(/^memory (\d+)$/.exec(said)?.[1])).toBeLessThan(250);
  }, 60_000);

  /** Node.js puts the mode of its outputs back at its end, also for those that share them. */
  it.runIf(process.platform !== 'win32')(
    'goes on after another has ended that shares its log',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'log-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      const pipe = join(folder, 'pipe');
      await promisify(execFile)('mkfifo', [pipe]);
      // Opened for both ways, so that it has a reader, which reads nothing.
      const fd = openSync(pipe, constants.O_RDWR);
      const stdio = ['pipe', fd, 'pipe'] as const;
      const waits = `const end = new Promise((resolve) => process.stdin.once('data', resolve));
      process.stderr.write(' '); await end; process.stdin.pause();`;
      const other = spawn(process.execPath, ['--input-type=module', '--eval', waits], { stdio: [...stdio] });
      await once(other.stderr as Readable, 'data');
      const child = spawn(process.execPath, given(1_000, waits), { stdio: [...stdio] });
      closeSync(fd);
      onTestFinished(() => void child.kill('SIGKILL'));
      await once(child.stderr as Readable, 'data');
      other.stdin?.write('end');
      await once(other, 'exit');
      child.stdin?.write('begin');
      expect(await ended(child)).toMatchObject({ code: 3, said: expect.stringMatching(/^memory/) as string });
    },
    30_000,
  );
});
