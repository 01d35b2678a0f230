/**
 * A proxy in front of a node: forwards JSON-RPC, and lets a test change requests and responses.
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
  /** Changes a response in place before it is returned. */
  onAnswer: (request: RpcMessage, answer: RpcMessage) => void;
}

const MAX_BODY_BYTES = 1024 * 1024;

/**
 * @param options.inTurns forwards one request at a time, so that a test's change at a request affects only
 *   that request
 */
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
