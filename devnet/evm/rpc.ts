/**
 * One JSON-RPC call to a node, without the product's adapter.
 */
import { postJson } from '../localRequests.ts';

export type RpcCall = (method: string, params?: readonly unknown[]) => Promise<unknown>;

/** @throws Error with the node's own message, or when the node can't be reached */
export async function sendRpc(
  url: string,
  method: string,
  params: readonly unknown[] = [],
  timeoutMs?: number,
): Promise<unknown> {
  const question = { jsonrpc: '2.0', id: 1, method, params };
  const answer = (await postJson(url, question, timeoutMs)) as {
    result?: unknown;
    error?: { code: number; message: string };
  };
  if (answer.error) throw new Error(`${method}: ${answer.error.message} (${answer.error.code})`);
  return answer.result;
}
