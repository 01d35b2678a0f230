/**
 * JSON-RPC to an EVM node: many questions in batches, or one by one if the node does not take batches.
 */
import { AnswerTooLong } from '../../../lib/boundedAnswer.ts';
import { chunksOf } from '../../../lib/chunksOf.ts';
import { createExchange, METHOD_NOT_FOUND, valueOf } from '../jsonRpc.ts';
import type { Answer, AnswerRoom, ExchangeOptions, RpcError, Question as AnyQuestion } from '../jsonRpc.ts';
import { NetworkUnavailable } from '../port.ts';
import { retryWhile } from '../retryWhile.ts';
import { RATE_LIMITED_OR_TIMED_OUT, isBlockMissing } from './transientErrors.ts';

export { RpcError, valueOf } from '../jsonRpc.ts';
export type { Answer } from '../jsonRpc.ts';

export interface Question<T> extends AnyQuestion<T> {
  params: readonly unknown[];
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
  /**
   * Asks in as many batches as necessary. The answers have at most MAX_ANSWER_BYTES together: some of them are
   * as long as a stranger likes.
   * @throws NetworkUnavailable, which isTooLong recognises for answers that are longer
   */
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
/** Of one batch, or one list. The longest answers are full blocks. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** @throws Error, without the URL in its message, if the URL is invalid */
export function createJsonRpc(options: Omit<ExchangeOptions, 'maxAnswerBytes'>): JsonRpc {
  const exchange = createExchange({ ...options, maxAnswerBytes: MAX_ANSWER_BYTES });
  let takesBatches = true;

  /** Block hashes tie answers together (finality.ts), so single questions are safe. */
  async function askOneByOne<T>(
    questions: readonly Question<T>[],
    room: AnswerRoom | undefined,
  ): Promise<Answer<T>[]> {
    const answers: Answer<T>[] = [];
    for (const together of chunksOf(questions, MAX_SINGLES_AT_ONCE)) {
      answers.push(...(await Promise.all(together.map((question) => exchange.askAlone(question, room)))));
    }
    return answers;
  }

  function askBatch<T>(questions: readonly Question<T>[], room?: AnswerRoom): Promise<Answer<T>[]> {
    return retryWhile(lacksBlocks, () => askOnce(questions, room));
  }

  async function askOnce<T>(
    questions: readonly Question<T>[],
    room: AnswerRoom | undefined,
  ): Promise<Answer<T>[]> {
    if (questions.length > MAX_BATCH) {
      throw new RangeError(`${questions.length} questions in a batch; at most ${MAX_BATCH}`);
    }
    if (questions.length <= 1 || !takesBatches) return askOneByOne(questions, room);
    const answers = await exchange.askBatch(questions, isRefusalOfBatches, room);
    if (answers !== null) return answers;
    takesBatches = false;
    return askOneByOne(questions, room);
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
      const room = { bytes: MAX_ANSWER_BYTES };
      for (const together of chunksOf(batches, MAX_BATCHES_AT_ONCE)) {
        const answered = await Promise.all(together.map((batch) => askBatch(batch, room)));
        answers.push(...(answered.flat() as Answer<never>[]));
      }
      return answers;
    },
  };
}

/** Whether the answers are above MAX_ANSWER_BYTES, so that fewer questions may be answered. */
export function isTooLong(error: unknown): boolean {
  return error instanceof NetworkUnavailable && error.cause instanceof AnswerTooLong;
}

function lacksBlocks(answers: readonly Answer<unknown>[]): boolean {
  return answers.some((answer) => 'error' in answer && isBlockMissing(answer.error));
}

function isRefusalOfBatches(message: string): boolean {
  return /batch/i.test(message) && !RATE_LIMITED_OR_TIMED_OUT.test(message);
}

/**
 * Returns null if the node does not have the method. Any other failure is thrown, because it may be temporary
 * and must not be mistaken for that. @throws RpcError
 */
export function valueOfOptional<T>(answer: Answer<T>): T | null {
  if (!('error' in answer) || !isUnknownMethod(answer.error)) return valueOf(answer);
  return null;
}

/** Some nodes use their own codes for an unknown method. */
function isUnknownMethod({ code, message }: RpcError): boolean {
  return (
    code === METHOD_NOT_FOUND || (/method/i.test(message) && /\bnot\b|unsupported|unknown/i.test(message))
  );
}
