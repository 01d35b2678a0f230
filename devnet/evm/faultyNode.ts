/**
 * A node whose answers may be false: in front of a real one, it speaks JSON-RPC over HTTP and passes on
 * what no rule answers.
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

/** What is answered instead of the node's own answer; undefined passes the question on. */
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
  /** Of each request: how many questions it held. */
  readonly batchSizes: number[];
  /** The first rule that answers does; called without any, it answers truly. */
  obey(...rules: Rule[]): void;
  /** Answers this instead of JSON-RPC, whatever is asked; null ends that. */
  answerAll(response: FixedAnswer | null): void;
  /** Takes no more questions than these at once; null ends that. */
  limitBatches(max: number | null): void;
}

/** More than any test asks; the laboratory's runs are longer. */
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
    // The node behind is away: so is this one.
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
