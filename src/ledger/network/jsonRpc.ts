/**
 * JSON-RPC to a node, in single questions and batches: each is sent once, limited in time and size.
 *
 * Callers decide about retries. A question that could not be asked is NetworkUnavailable; an error from the
 * node is an RpcError. Messages never contain the node's URL, which may contain a key.
 */
import * as z from 'zod';
import { AnswerTooLong, readBounded } from '../../lib/boundedAnswer.ts';
import { createPause } from '../../lib/retryAfter.ts';
import { NetworkUnavailable } from './port.ts';

/** One question to a node, with the function that parses its answer. */
export interface Question<T> {
  method: string;
  params: unknown;
  /** @throws if the result is not an answer to the question */
  read: (result: unknown) => T;
}

export type Answer<T> = { value: T } | { error: RpcError };

/** The node's own error about one question. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  /** Of EVM nodes, a contract's revert data, in the forms that nodes use. */
  readonly data: unknown;

  constructor(method: string, error: { code: number; message: string; data?: unknown }) {
    super(`${method}: ${error.message.slice(0, MAX_MESSAGE_CHARACTERS)} (${error.code})`);
    this.code = error.code;
    this.data = error.data;
  }
}

export const METHOD_NOT_FOUND = -32_601;
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

export interface ExchangeOptions {
  url: string;
  timeoutMs: number;
  maxAnswerBytes: number;
  /** Unix time; the machine's clock by default. */
  nowMs?: (() => number) | undefined;
}

/** The bytes that are left for the answers to a list of questions. */
export interface AnswerRoom {
  bytes: number;
}

/** Without `room`, each answer has `maxAnswerBytes`; with it, all that share it have its bytes together. */
interface Exchange {
  /** @throws NetworkUnavailable */
  askAlone<T>(question: Question<T>, room?: AnswerRoom): Promise<Answer<T>>;
  /**
   * @param isRefusal whether an error's message means that the node does not take batches
   * @returns null if the node does not take batches
   * @throws NetworkUnavailable
   */
  askBatch<T>(
    questions: readonly Question<T>[],
    isRefusal: (message: string) => boolean,
    room?: AnswerRoom,
  ): Promise<Answer<T>[] | null>;
}

/** @throws Error, without the URL in its message, if the URL is invalid */
export function createExchange(options: ExchangeOptions): Exchange {
  requireUrl(options.url);
  const post = createPost(options);
  // Ids are never reused, because something between this platform and its node may mix up answers.
  let nextId = 1;
  return {
    async askAlone(question, room) {
      const id = nextId++;
      const reply = await orUnavailable(question.method, async () =>
        aboutQuestion(replySchema.parse(await post(request(question, id), room)), id),
      );
      return readReply(question, reply);
    },
    async askBatch(questions, isRefusal, room) {
      const ids = questions.map(() => nextId++);
      const replies = await orUnavailable(`a batch of ${questions[0]?.method}`, async () => {
        const body = await post(
          questions.map((question, at) => request(question, ids[at])),
          room,
        );
        if (Array.isArray(body)) return inOrder(body, ids);
        const { error } = replySchema.safeParse(body).data ?? {};
        if (error && isRefusal(error.message)) return null;
        throw new Error(error?.message ?? 'it gave one answer to many questions');
      });
      return replies && questions.map((question, at) => readReply(question, replies[at]));
    },
  };
}

function request({ method, params }: Question<unknown>, id: number | undefined) {
  return { jsonrpc: '2.0', id, method, params };
}

/** @returns a function that throws an Error unless the answer is JSON */
function createPost({
  url,
  timeoutMs,
  maxAnswerBytes,
  nowMs = Date.now,
}: ExchangeOptions): (body: unknown, room?: AnswerRoom) => Promise<unknown> {
  const pause = createPause(nowMs);
  return async (body, room = { bytes: maxAnswerBytes }) => {
    pause.requireOver();
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'error',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
      signal,
    });
    pause.note(response);
    const { ok, status } = response;
    const text = await readBounded(response, room.bytes, signal);
    // Answers that came at the same time may each fit, and not fit together.
    room.bytes -= Buffer.byteLength(text);
    if (room.bytes < 0) throw new AnswerTooLong(`the answers are ${-room.bytes} bytes too long together`);
    // Some nodes send JSON-RPC errors with status 400; status 500 comes from a proxy.
    const isAboutCaller = status >= 400 && status < 500 && status !== 429;
    if (!ok && !(isAboutCaller && hasError(text))) throw new Error(`it answered with status ${status}`);
    return JSON.parse(text) as unknown;
  };
}

/** Whether a question of the request, or the whole request, is answered with an error of JSON-RPC. */
function hasError(text: string): boolean {
  try {
    const replies = [JSON.parse(text) as unknown].flat();
    return replies.some((reply) => replySchema.safeParse(reply).data?.error !== undefined);
  } catch {
    return false;
  }
}

/** `fetch` would put the whole URL into its error message. */
function requireUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error('rpcUrl is no http or https url');
  if (url.username !== '' || url.password !== '') throw new Error('rpcUrl must hold no user and password');
}

/** @throws RpcError if the answer is an error */
export function valueOf<T>(answer: Answer<T>): T {
  if ('error' in answer) throw answer.error;
  return answer.value;
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
      { cause: error },
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
  if (error instanceof z.ZodError) return describeProblems(error).slice(0, MAX_MESSAGE_CHARACTERS);
  const { code } = error as { code?: unknown };
  const text = error.message === '' && typeof code === 'string' ? code : error.message;
  return text.slice(0, MAX_MESSAGE_CHARACTERS);
}

function describeProblems({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.') || 'the answer'}: ${message}`).join('; ');
}
