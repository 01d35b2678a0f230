/**
 * Two nodes behind one address: every second request is answered by a node that lacks the newest blocks.
 */
import { createServer } from 'node:http';
import { readBody } from '../../../src/lib/readBody.ts';
import { listenLocally, type LocalServer } from '../../../devnet/listenLocally.ts';
import { postJson } from '../../../devnet/localRequests.ts';

interface Question {
  id: unknown;
  method: string;
  params: unknown[];
}

type Told = { result: unknown } | { error: { code: number; message: string } };

interface NodesInTurns extends LocalServer {
  /** How many blocks the second node lacks; 0 until it is set. */
  lagBlocks: number;
  /** Whether the second node answers next. */
  isBehindNext: boolean;
}

const MAX_BODY_BYTES = 1024 * 1024;
const TAGS = ['latest', 'pending', 'finalized'];
/** Finality delay of the second node. */
const BLOCKS_UNTIL_FINALIZED = 64;
const NO_HEADER = { error: { code: -32_000, message: 'header for hash not found' } };

export async function startNodesInTurns(nodeUrl: string): Promise<NodesInTurns> {
  let last: Promise<unknown> = Promise.resolve();

  const tell = async (method: string, params: readonly unknown[]) =>
    (await postJson(nodeUrl, { jsonrpc: '2.0', id: 1, method, params })) as Told;

  async function blockNumberOf(method: string, params: readonly unknown[]): Promise<number | null> {
    const told = await tell(method, params);
    const found = 'result' in told ? (told.result as { number?: string; blockNumber?: string } | null) : null;
    const number = found?.number ?? found?.blockNumber;
    return number === undefined ? null : Number(number);
  }

  async function lacking({ method, params }: Question, newest: number): Promise<Told> {
    if (method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash') {
      const number = await blockNumberOf(method, params);
      return number !== null && number > newest ? { result: null } : tell(method, params);
    }
    const seen: unknown[] = [];
    for (const param of params) {
      const hash = (param as { blockHash?: string } | null)?.blockHash;
      if (hash !== undefined) {
        const number = await blockNumberOf('eth_getBlockByHash', [hash, false]);
        if (number === null || number > newest) return NO_HEADER;
      }
      const at = param === 'finalized' ? newest - BLOCKS_UNTIL_FINALIZED : newest;
      seen.push(typeof param === 'string' && TAGS.includes(param) ? `0x${at.toString(16)}` : param);
    }
    const isOfLater = method === 'eth_getBlockByNumber' && Number(seen[0]) > newest;
    return isOfLater ? { result: null } : tell(method, seen);
  }

  async function answer(asked: Question[]): Promise<unknown[]> {
    const isBehind = nodes.isBehindNext;
    nodes.isBehindNext = !isBehind;
    if (!isBehind) return (await postJson(nodeUrl, asked)) as unknown[];
    const latest = (await blockNumberOf('eth_getBlockByNumber', ['latest', false])) ?? 0;
    const told = asked.map(async (question) => ({
      ...(await lacking(question, latest - nodes.lagBlocks)),
      id: question.id,
    }));
    return Promise.all(told);
  }

  const server = createServer((request, response) => {
    const pass = async () => {
      const body = JSON.parse(String(await readBody(request, MAX_BODY_BYTES))) as Question | Question[];
      const answers = await answer([body].flat());
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
    };
    last = last.then(pass).catch(() => response.destroy());
  });
  const nodes: NodesInTurns = {
    ...(await listenLocally(server)),
    lagBlocks: 0,
    isBehindNext: false,
  };
  return nodes;
}
