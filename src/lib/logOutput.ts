/**
 * Writes the log's lines to a file descriptor that may take nothing for a while, because its disk is full or
 * the reader of a pipe has stopped. The server works on meanwhile, and keeps a limited number of lines in
 * memory.
 *
 *   waiting ──write──▶ under way ──taken──▶ the next
 *        └─ full: lost, and counted  └─ refused: again soon
 *
 * pino's own destination is not used: it ends the process when the disk is full, keeps all lines that a
 * stopped reader does not take, and an exit waits for that reader without end.
 */
import fs from 'node:fs';
import { codeOf } from './errors.ts';

/** Some minutes of a busy server's log. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** A pipe has room again as soon as its reader goes on. */
const RETRY_FULL_PIPE_MS = 10;
const RETRY_MS = 100;
/** Maximum delay of an exit: a reader that is only behind takes the remaining lines within this time. */
const EXIT_PATIENCE_MS = 1_000;
const EXIT_LOOK_MS = 20;

type WriteAsync = (fd: number, bytes: Buffer, done: (error: Error | null, written: number) => void) => void;

const NOTHING = Buffer.alloc(0);

interface LogOutput {
  /** Takes whole lines. */
  write(lines: string): void;
  /** Writes the waiting lines. Later writes are synchronous: a process that exits has no later turn. */
  beginExit(): void;
}

interface LogOutputOptions {
  fd: number;
  /** Called when the output takes lines again, with the number of lost lines. */
  onLost: (lines: number) => void;
  maxWaitingBytes?: number;
  /**
   * Makes a full output refuse a write, which would stop this thread otherwise. Called before each write.
   * Without it, another thread writes, until the exit.
   */
  unblock?: (() => void) | undefined;
  /** By default that of `writerOf`. */
  writeAsync?: WriteAsync;
}

export function createLogOutput(options: LogOutputOptions): LogOutput {
  const { fd, onLost, unblock, maxWaitingBytes = MAX_WAITING_BYTES } = options;
  const { writeAsync = writerOf(unblock) } = options;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let underWay: Buffer = NOTHING;
  /** False while nothing is under way, or while the bytes under way wait for their next try. */
  let isWriting = false;
  let retryTimer: NodeJS.Timeout | undefined;
  let lostLines = 0;
  let writeLast: ((bytes: Buffer) => void) | undefined;
  /** Whether the reader has closed the pipe. */
  let isClosed = false;

  function takeWaiting(): Buffer {
    const all = Buffer.concat(waiting);
    waiting = [];
    waitingBytes = 0;
    return all;
  }

  function writeNext(): void {
    if (underWay.length === 0) underWay = takeWaiting();
    isWriting = underWay.length > 0;
    if (!isWriting) return;
    writeAsync(fd, underWay, (error, written) => {
      isWriting = false;
      if (error !== null) return wait(error);
      underWay = underWay.subarray(written);
      writeNext();
      tellLost();
    });
  }

  function wait({ code }: NodeJS.ErrnoException): void {
    if (code === 'EPIPE') {
      isClosed = true;
      underWay = NOTHING;
      takeWaiting();
    } else retryTimer = setTimeout(writeNext, code === 'EAGAIN' ? RETRY_FULL_PIPE_MS : RETRY_MS).unref();
  }

  function tellLost(): void {
    const lines = lostLines;
    lostLines = 0;
    if (lines > 0) onLost(lines);
  }

  return {
    write(lines) {
      if (isClosed) return;
      const bytes = Buffer.from(lines);
      if (writeLast) return writeLast(bytes);
      if (underWay.length + waitingBytes + bytes.length > maxWaitingBytes) {
        lostLines += lines.split('\n').length - 1;
        return;
      }
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (underWay.length === 0) writeNext();
    },
    beginExit() {
      writeLast = createLastWrite(fd, unblock);
      clearTimeout(retryTimer);
      // A write in progress must not be repeated.
      if (!isWriting) writeLast(underWay);
      writeLast(takeWaiting());
    },
  };
}

/**
 * The `unblock` of the standard output; undefined unless it is a pipe or a socket. To unblock it once is not
 * enough: when a Node.js process ends that shares the pipe, such as another instance, it gives the pipe the
 * mode back that it found. On Windows a write to a full pipe always waits for its reader.
 */
export function unblockerOf(output: NodeJS.WriteStream): (() => void) | undefined {
  const { _handle: handle } = output as { _handle?: { setBlocking?(isBlocking: boolean): number } | null };
  if (output.isTTY || process.platform === 'win32' || typeof handle?.setBlocking !== 'function')
    return undefined;
  return () => void handle.setBlocking?.(false);
}

/**
 * A pipe takes a part or refuses at once. A write that is under way in another thread at an exit would leave
 * a part that is not known, and its last line torn in the middle of the log.
 */
function writerOf(unblock: LogOutputOptions['unblock']): WriteAsync {
  if (unblock === undefined) return fs.write;
  return (fd, bytes, done) => {
    let written = 0;
    let failure: Error | null = null;
    try {
      unblock();
      written = fs.writeSync(fd, bytes);
    } catch (error) {
      failure = error as Error;
    }
    done(failure, written);
  };
}

/** Gives up all remaining bytes when some are not taken in time: later lines would continue a torn line. */
function createLastWrite(fd: number, unblock = () => {}): (bytes: Buffer) => void {
  const giveUpAt = performance.now() + EXIT_PATIENCE_MS;
  let isOver = false;
  return (bytes) => {
    for (let rest = bytes; rest.length > 0 && !isOver;) {
      try {
        unblock();
        rest = rest.subarray(fs.writeSync(fd, rest));
      } catch (error) {
        isOver = codeOf(error) !== 'EAGAIN' || performance.now() > giveUpAt;
        if (!isOver) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EXIT_LOOK_MS);
      }
    }
  };
}
