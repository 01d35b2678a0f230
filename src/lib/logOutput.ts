/**
 * Where the log's lines go: a file descriptor that may take nothing for a while, because its disk is full or the reader of a pipe has
 * stopped. The server works on meanwhile: its log is not worth its end, nor all of its memory.
 *
 *   waiting ──write──▶ under way ──taken──▶ the next
 *        └─ full: lost, and counted  └─ refused: again soon
 *
 * Not pino's own destination: it ends the process when the disk is full, keeps all that a stopped reader does not take, and an exit waits for
 * that reader without end.
 */
import fs from 'node:fs';

/** Some minutes of a busy server's log. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** A pipe has room again as soon as its reader goes on. */
const RETRY_FULL_PIPE_MS = 10;
const RETRY_MS = 100;
/** Of a whole exit: a reader that is only behind takes what is left within this time. */
const EXIT_PATIENCE_MS = 1_000;
const EXIT_LOOK_MS = 20;

type WriteAsync = (fd: number, bytes: Buffer, done: (error: Error | null, written: number) => void) => void;

const NOTHING = Buffer.alloc(0);

interface LogOutput {
  /** Whole lines. */
  write(lines: string): void;
  /** Writes what waits; from now on each write is done at once, because a process that exits has no later turn. */
  beginExit(): void;
}

interface LogOutputOptions {
  fd: number;
  /** Called when the output takes lines again, with the number of those that it will never have. */
  onLost: (lines: number) => void;
  maxWaitingBytes?: number;
  /** The file system's unless given. */
  writeAsync?: WriteAsync;
}

export function createLogOutput(options: LogOutputOptions): LogOutput {
  const { fd, onLost, maxWaitingBytes = MAX_WAITING_BYTES, writeAsync = fs.write } = options;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let underWay: Buffer = NOTHING;
  /** False while nothing is under way, or what is waits for its next try. */
  let isWriting = false;
  let retryTimer: NodeJS.Timeout | undefined;
  let lostLines = 0;
  let writeLast: ((bytes: Buffer) => void) | undefined;
  /** Its reader is gone for good. */
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
    if (lostLines === 0) return;
    const lines = lostLines;
    lostLines = 0;
    onLost(lines);
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
      writeLast = createLastWrite(fd);
      clearTimeout(retryTimer);
      // What is being written leaves by itself.
      if (!isWriting) writeLast(underWay);
      writeLast(takeWaiting());
    },
  };
}

/** Gives up all that is left at what is not taken in time: later lines would continue a torn one. */
function createLastWrite(fd: number): (bytes: Buffer) => void {
  const giveUpAt = performance.now() + EXIT_PATIENCE_MS;
  let isOver = false;
  return (bytes) => {
    for (let rest = bytes; rest.length > 0 && !isOver;) {
      try {
        rest = rest.subarray(fs.writeSync(fd, rest));
      } catch (error) {
        isOver = (error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > giveUpAt;
        if (!isOver) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EXIT_LOOK_MS);
      }
    }
  };
}
