/**
 * HTTP clients by hand over plain sockets with keep-alive, each with one request under way: cheap enough to
 * leave the processors to the server.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { HttpClient, HttpJob, HttpResult } from './messages.ts';
import { createAnswerReader } from './answerReader.ts';

const KEY = '$KEY';
const KEY_CHARACTERS = 24;
const MAX_SHOWN_CHARACTERS = 500;

interface Request {
  head: string;
  /** The texts before and after the key; one part when the body has no key. */
  parts: readonly string[];
}

export async function runHttp(job: HttpJob): Promise<HttpResult> {
  const latenciesMs: number[] = [];
  const result = { answered: 0, failed: 0, failure: null as string | null };
  const keys = createKeys();
  const startedMs = performance.now();
  const stopMs = startedMs + job.seconds * 1000;
  let left = job.maxRequests ?? Infinity;
  const mayBegin = () => {
    left -= 1;
    return left >= 0 && performance.now() < stopMs;
  };
  let lastMs = startedMs;
  const note = (body: string, tookMs: number) => {
    lastMs = performance.now();
    if (body.includes(job.expect)) {
      result.answered += 1;
      latenciesMs.push(tookMs);
    } else {
      result.failed += 1;
      result.failure ??= body.slice(0, MAX_SHOWN_CHARACTERS);
    }
  };
  const prepared = job.clients.map((client) => prepare(job, client));
  await Promise.all(
    Array.from({ length: job.connections }, (_, i) =>
      runConnection(job, prepared[i % prepared.length] ?? [], i, { mayBegin, keys, note }),
    ),
  );
  latenciesMs.sort((a, b) => a - b);
  const at = (share: number) => latenciesMs[Math.floor((latenciesMs.length - 1) * share)] ?? Number.NaN;
  return {
    ...result,
    perSecond: result.answered / ((lastMs - startedMs) / 1000),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

function prepare(job: HttpJob, { headers, bodies }: HttpClient): Request[] {
  return bodies.map((body) => {
    const parts = body.split(KEY);
    const bytes = Buffer.byteLength(parts.join('')) + (parts.length - 1) * KEY_CHARACTERS;
    const lines = Object.entries({
      host: `127.0.0.1:${job.port}`,
      'content-type': 'application/json',
      accept: 'application/json',
      ...headers,
      'content-length': bytes,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    return { head: `POST ${job.path} HTTP/1.1\r\n${lines.join('')}\r\n`, parts };
  });
}

function createKeys(): () => string {
  const run = randomBytes(6).toString('hex');
  let next = 0;
  return () => {
    next += 1;
    return run + String(next).padStart(KEY_CHARACTERS - run.length, '0');
  };
}

interface Turn {
  mayBegin: () => boolean;
  keys: () => string;
  note: (body: string, tookMs: number) => void;
}

/** Sends one request after the other until the time is over, then awaits the request under way. */
function runConnection(
  job: HttpJob,
  requests: readonly Request[],
  number: number,
  turn: Turn,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(job.port, '127.0.0.1');
    socket.setNoDelay(true);
    let at = number;
    let sentMs = 0;
    const drain = setTimeout(finish, (job.seconds + job.drainSeconds) * 1000);
    function finish() {
      clearTimeout(drain);
      socket.destroy();
      resolve();
    }
    const send = () => {
      if (!turn.mayBegin()) return finish();
      const request = requests[at % requests.length];
      at += 1;
      if (request === undefined) return finish();
      const { head, parts } = request;
      const body = parts.length === 1 ? parts[0] : parts.join(turn.keys());
      sentMs = performance.now();
      socket.write(head + body);
    };
    const reader = createAnswerReader((body) => {
      turn.note(body, performance.now() - sentMs);
      send();
    });
    socket.on('connect', send);
    socket.on('data', reader);
    socket.on('error', (error) => {
      clearTimeout(drain);
      reject(error);
    });
    socket.on('end', () => {
      turn.note('the server closed the connection', 0);
      finish();
    });
  });
}
