/**
 * The path and query of a request, as the client wrote them. Node accepts targets that are no valid URL, such
 * as `*:99999`.
 */
import type { IncomingMessage } from 'node:http';

export function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '/';
}

export function queryOf(request: IncomingMessage): URLSearchParams {
  return new URLSearchParams(request.url?.slice(pathOf(request).length));
}
