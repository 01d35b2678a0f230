/**
 * A node in front of a node: passes JSON-RPC on, after a test has had its way with a request or an answer.
 */
import { createServer } from 'node:http';
import { readBody } from '../../../src/lib/readBody.ts';
import { listenLocally, type LocalServer } from '../../../devnet/listenLocally.ts';
import { passOn } from '../../../devnet/localRequests.ts';

interface RpcMessage {
  method?: string;
  params?: Record<string, unknown> | null;
  result?: Record<string, unknown>;
}

export interface RewritingProxy extends LocalServer {
  /** Changes requests on their way, in place. */
  onRequest: (request: RpcMessage) => void;
  /** Changes answers on their way back, in place. */
  onAnswer: (request: RpcMessage, answer: RpcMessage) => void;
}

const MAX_BODY_BYTES = 1024 * 1024;

/** @param options.inTurns one request after the other: what a test changes at a request holds for that one alone */
export async function startRewritingProxy(
  targetUrl: string,
  { inTurns = false }: { inTurns?: boolean } = {},
): Promise<RewritingProxy> {
  let last: Promise<unknown> = Promise.resolve();
  const server = createServer((request, response) => {
    const pass = async () => {
      const body = await readBody(request, MAX_BODY_BYTES);
      const asked = JSON.parse(String(body)) as RpcMessage;
      proxy.onRequest(asked);
      const answer = await passOn(targetUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(asked),
      });
      const told = JSON.parse(answer.text) as RpcMessage;
      proxy.onAnswer(asked, told);
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(told));
    };
    last = (inTurns ? last.then(pass) : pass()).catch(() => response.destroy());
  });
  const proxy: RewritingProxy = {
    ...(await listenLocally(server)),
    onRequest: () => {},
    onAnswer: () => {},
  };
  return proxy;
}
