/**
 * What a request is for, as its sender wrote it. A URL of it can't be made of every target that Node accepts, such as `*:99999`.
 */
import type { IncomingMessage } from 'node:http';

export function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '/';
}

export function queryOf(request: IncomingMessage): URLSearchParams {
  return new URLSearchParams(request.url?.slice(pathOf(request).length));
}
