/**
 * JSON-RPC to a node, in single questions and batches: each is sent once, limited in time and size.
 *
 * Callers decide about retries. A question that could not be asked is NetworkUnavailable; an error from the
 * node is an RpcError. Messages never contain the node's URL, which may contain a key.
 */
import * as z from 'zod';
import { readBounded } from '../../../lib/boundedAnswer.ts';
import { chunksOf } from '../../../lib/chunksOf.ts';
import { retryWhile } from '../retryWhile.ts';
import { NetworkUnavailable } from '../port.ts';
import { createPause } from '../../../lib/retryAfter.ts';
import { RATE_LIMITED_OR_TIMED_OUT, isBlockMissing } from './transientErrors.ts';

/** One question to a node, with the function that parses its answer. */
export interface Question<T> {
  method: string;
  params: readonly unknown[];
  /** @throws if the result is not an answer to the question */
  read: (result: unknown) => T;
}

export type Answer<T> = { value: T } | { error: RpcError };

/** The node's own error about one question. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  /** A contract's revert data, in the forms that nodes use. */
  readonly data: unknown;

  constructor(method: string, error: { code: number; message: string; data?: unknown }) {
    super(`${method}: ${error.message.slice(0, MAX_MESSAGE_CHARACTERS)} (${error.code})`);
    this.code = error.code;
    this.data = error.data;
  }
}

export interface JsonRpc {
  /** @throws RpcError, NetworkUnavailable */
  ask<T>(question: Question<T>): Promise<T>;
  /**
   * Asks all in one batch, so that answers are of one moment as far as the node provides that; at most
   * MAX_BATCH. @throws NetworkUnavailable
   */
  askTogether<const Questions extends readonly Question<unknown>[]>(
    questions: Questions,
  ): Promise<AnswersTo<Questions>>;
  /** Asks in as many batches as necessary. @throws NetworkUnavailable */
  askEach<T>(questions: readonly Question<T>[]): Promise<Answer<T>[]>;
  /** False once the node has refused batches. */
  takesBatches(): boolean;
}

export type AnswersTo<Questions extends readonly Question<unknown>[]> = {
  -readonly [Place in keyof Questions]: Questions[Place] extends Question<infer T> ? Answer<T> : never;
};

/** Public nodes accept at least 50 questions in a batch. */
const MAX_BATCH = 50;
/** For a node without batches: as many connections as browsers open. */
const MAX_SINGLES_AT_ONCE = 6;
/** Maximum concurrent batches of one list: enough to hide latency, few enough for a node's rate limit. */
const MAX_BATCHES_AT_ONCE = 4;
/** The longest answers are full blocks, and 200 retirement records with the longest notes. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Some nodes put whole traces into their messages. */
const MAX_MESSAGE_CHARACTERS = 300;

const replySchema = z.object({
  id: z.union([z.number(), z.string(), z.null()]).optional(),
  result: z.unknown().optional(),
  error: z
    .object({ code: z.number(), message: z.string().default('no message'), data: z.unknown().optional() })
    .optional(),
});
type Reply = z.infer<typeof replySchema>;

/**
 * @param options.nowMs Unix time; the machine's clock by default
 * @throws Error, without the URL in its message, if the URL is invalid
 */
export function createJsonRpc(options: { url: string; timeoutMs: number; nowMs?: () => number }): JsonRpc {
  requireUrl(options.url);
  const { nowMs = Date.now } = options;
  const post = createPost(options, createPause(nowMs));
  let takesBatches = true;
  // Ids are never reused, because something between this platform and its node may mix up answers.
  let nextId = 1;

  async function askAlone<T>(question: Question<T>): Promise<Answer<T>> {
    const id = nextId++;
    const reply = await orUnavailable(question.method, async () =>
      aboutQuestion(replySchema.parse(await post(request(question, id))), id),
    );
    return readReply(question, reply);
  }

  /** Block hashes tie answers together (finality.ts), so single questions are safe. */
  async function askOneByOne<T>(questions: readonly Question<T>[]): Promise<Answer<T>[]> {
    const answers: Answer<T>[] = [];
    for (const together of chunksOf(questions, MAX_SINGLES_AT_ONCE)) {
      answers.push(...(await Promise.all(together.map(askAlone))));
    }
    return answers;
  }

  function askBatch<T>(questions: readonly Question<T>[]): Promise<Answer<T>[]> {
    return retryWhile(lacksBlocks, () => askOnce(questions));
  }

  async function askOnce<T>(questions: readonly Question<T>[]): Promise<Answer<T>[]> {
    if (questions.length > MAX_BATCH) {
      throw new RangeError(`${questions.length} questions in a batch; at most ${MAX_BATCH}`);
    }
    if (questions.length <= 1 || !takesBatches) return askOneByOne(questions);
    const ids = questions.map(() => nextId++);
    const replies = await orUnavailable(`a batch of ${questions[0]?.method}`, async () => {
      const body = await post(questions.map((question, at) => request(question, ids[at])));
      return Array.isArray(body) ? inOrder(body, ids) : refusalOfBatch(body);
    });
    if (replies === 'no batches') {
      takesBatches = false;
      return askOneByOne(questions);
    }
    return questions.map((question, at) => readReply(question, replies[at]));
  }

  return {
    async ask(question) {
      const [answer] = await askBatch([question]);
      if (answer === undefined) throw new Error('a question was not asked');
      return valueOf(answer);
    },
    takesBatches: () => takesBatches,
    askTogether: (questions) => askBatch(questions) as Promise<never>,
    async askEach(questions) {
      const batches = chunksOf(questions, MAX_BATCH);
      const answers: Answer<never>[] = [];
      for (const together of chunksOf(batches, MAX_BATCHES_AT_ONCE)) {
        const answered = await Promise.all(together.map((batch) => askBatch(batch)));
        answers.push(...(answered.flat() as Answer<never>[]));
      }
      return answers;
    },
  };
}

function lacksBlocks(answers: readonly Answer<unknown>[]): boolean {
  return answers.some((answer) => 'error' in answer && isBlockMissing(answer.error));
}

function request({ method, params }: Question<unknown>, id: number | undefined) {
  return { jsonrpc: '2.0', id, method, params };
}

/** @returns a function that throws an Error unless the answer is JSON */
function createPost(
  { url, timeoutMs }: { url: string; timeoutMs: number },
  pause: ReturnType<typeof createPause>,
): (body: unknown) => Promise<unknown> {
  return async (body) => {
    pause.requireOver();
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'error',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    pause.note(response);
    const text = await readBounded(response, MAX_ANSWER_BYTES);
    // Some nodes send JSON-RPC errors with status 400; status 500 comes from a proxy.
    const isAboutCaller = response.status >= 400 && response.status < 500 && response.status !== 429;
    if (!response.ok && !isAboutCaller) throw new Error(`it answered with status ${response.status}`);
    return JSON.parse(text) as unknown;
  };
}

/** `fetch` would put the whole URL into its error message. */
function requireUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error('rpcUrl is no http or https url');
  if (url.username !== '' || url.password !== '') throw new Error('rpcUrl must hold no user and password');
}

/**
 * Returns null if the node does not have the method. Any other failure is thrown, because it may be temporary
 * and must not be mistaken for that. @throws RpcError
 */
export function valueOfOptional<T>(answer: Answer<T>): T | null {
  if (!('error' in answer) || !isUnknownMethod(answer.error)) return valueOf(answer);
  return null;
}

const METHOD_NOT_FOUND = -32_601;

/** Some nodes use their own codes for an unknown method. */
function isUnknownMethod({ code, message }: RpcError): boolean {
  return (
    code === METHOD_NOT_FOUND || (/method/i.test(message) && /\bnot\b|unsupported|unknown/i.test(message))
  );
}

/** @throws RpcError if the answer is an error */
export function valueOf<T>(answer: Answer<T>): T {
  if ('error' in answer) throw answer.error;
  return answer.value;
}

/** @throws Error unless the single answer says that the node does not support batches */
function refusalOfBatch(body: unknown): 'no batches' {
  const { error } = replySchema.safeParse(body).data ?? {};
  if (error && /batch/i.test(error.message) && !RATE_LIMITED_OR_TIMED_OUT.test(error.message))
    return 'no batches';
  throw new Error(error?.message ?? 'it gave one answer to many questions');
}

/** An error may lack the question's id, if the node could not read the question. */
function aboutQuestion(reply: Reply, id: number): Reply {
  if (reply.error || Number(reply.id) === id) return reply;
  throw new Error(`it answered question ${reply.id} in place of ${id}`);
}

/** Replies of a batch may come in any order. */
function inOrder(body: readonly unknown[], ids: readonly number[]): Reply[] {
  const replies = body.map((item) => replySchema.parse(item));
  const byId = new Map(replies.map((reply) => [Number(reply.id), reply]));
  if (byId.size < replies.length) throw new Error('it answered one question twice');
  return ids.map((id, at) => {
    const reply = byId.get(id);
    if (!reply) throw new Error(`it left question ${at + 1} of ${ids.length} without an answer`);
    return reply;
  });
}

function readReply<T>(question: Question<T>, reply: Reply | undefined): Answer<T> {
  if (reply?.error) return { error: new RpcError(question.method, reply.error) };
  try {
    // A null result is an answer; a missing one is not.
    if (reply?.result === undefined) throw new Error('neither a result nor an error');
    return { value: question.read(reply.result) };
  } catch (error) {
    throw new NetworkUnavailable(
      `The node answered ${question.method} with something else: ${brief(error)}`,
      {
        cause: error,
      },
    );
  }
}

async function orUnavailable<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new NetworkUnavailable(`The node could not be asked (${what}): ${brief(error)}`, { cause: error });
  }
}

/** The message of the innermost cause, because `fetch failed` alone says nothing. */
function brief(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return brief(cause);
  const { code } = error as { code?: unknown };
  const text = error.message === '' && typeof code === 'string' ? code : error.message;
  return text.slice(0, MAX_MESSAGE_CHARACTERS);
}
