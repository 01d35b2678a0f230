/**
 * A proxy in front of a real node whose answers may be false. It speaks JSON-RPC over HTTP, and passes on the
 * questions that no rule answers.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { listenLocally, type LocalServer } from '../listenLocally.ts';
import { postJson } from '../localRequests.ts';

export interface RpcQuestion {
  id?: unknown;
  method: string;
  params: readonly unknown[];
}

/** Answers in place of the node; undefined passes the question on. */
export type Rule = (
  question: RpcQuestion,
) => { result: unknown } | { error: { code: number; message: string; data?: unknown } } | 'cut' | undefined;

interface FixedAnswer {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

export interface FaultyNode extends LocalServer {
  /** The newest questions, in the order they came. */
  readonly questions: RpcQuestion[];
  /** The number of questions in each request. */
  readonly batchSizes: number[];
  /** The first rule with an answer decides. Without rules, the node's own answers are returned. */
  obey(...rules: Rule[]): void;
  /** Answers every request with this response instead of JSON-RPC; null ends that. */
  answerAll(response: FixedAnswer | null): void;
  /** The maximum of questions in a batch; null ends the limit. */
  limitBatches(max: number | null): void;
}

/** More than any test asks; measurements run longer. */
const MAX_QUESTIONS = 100_000;

export async function startFaultyNode(nodeUrl: string): Promise<FaultyNode> {
  let rules: readonly Rule[] = [];
  let maxBatch: number | null = null;
  let fixed: FixedAnswer | null = null;
  const questions: RpcQuestion[] = [];
  const batchSizes: number[] = [];

  const pass = (passed: RpcQuestion[]) => postJson(nodeUrl, passed) as Promise<{ id: unknown }[]>;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = (await json(request)) as RpcQuestion | RpcQuestion[];
    const all = Array.isArray(asked) ? asked : [asked];
    questions.push(...all);
    if (questions.length > MAX_QUESTIONS) questions.splice(0, questions.length - MAX_QUESTIONS);
    batchSizes.push(all.length);
    if (Array.isArray(asked) && maxBatch !== null && all.length > maxBatch) {
      const error = { code: -32600, message: `Batch of more than ${maxBatch} requests are not allowed` };
      response.writeHead(400).end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
      return;
    }
    if (fixed) {
      response.writeHead(fixed.status, fixed.headers).end(fixed.body);
      return;
    }
    const decided = all.map((question) => rules.map((rule) => rule(question)).find(Boolean));
    if (decided.includes('cut')) {
      response.socket?.destroy();
      return;
    }
    const passed = all.filter((_, at) => decided[at] === undefined);
    const told = passed.length === 0 ? [] : await pass(passed);
    const answers = all.map((question, at) => {
      const own = decided[at];
      if (own !== undefined && own !== 'cut') return { jsonrpc: '2.0', id: question.id, ...own };
      return told.find((answer) => answer.id === question.id);
    });
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(Array.isArray(asked) ? answers : answers[0]));
  }

  const server = createServer((request, response) => {
    // The real node is unavailable, so this one is, too.
    answer(request, response).catch(() => response.socket?.destroy());
  });
  return {
    ...(await listenLocally(server)),
    questions,
    batchSizes,
    obey(...given) {
      rules = given;
    },
    answerAll(response) {
      fixed = response;
    },
    limitBatches(max) {
      maxBatch = max;
    },
  };
}
