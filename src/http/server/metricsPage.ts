/**
 * GET /metrics: who may read it, and its answer.
 *
 * Metrics show how much business there is and where it is stuck, which is not public. Scrapers run next to
 * the server, so private addresses may read without a token. A proxy runs there as well, but the requests
 * that it forwards come from elsewhere.
 */
import type { IncomingMessage } from 'node:http';
import { DomainError } from '../../lib/errors.ts';
import { hasBearer } from '../../lib/hasBearer.ts';
import { isPrivateAddress } from '../../lib/hosts.ts';
import { isOperator } from '../../schema/core/caller.ts';
import type { Gate } from './gate.ts';
import { answerError } from './answers.ts';
import type { Exchange } from './exchange.ts';
import { isForwarded } from './forwarded.ts';

export interface MetricsPage {
  /** `private`: without a token from private addresses; `token`: with a token alone. */
  access: 'private' | 'token';
  /** A token for metrics alone: a scraper needs no rights of an operator. */
  token?: string | undefined;
  contentType: string;
  /** Returns Prometheus' text format. */
  read(): Promise<string>;
}

/** @throws DomainError UNAUTHENTICATED, FORBIDDEN, RATE_LIMITED */
export async function answerMetrics(
  { request, response, remoteAddress }: Exchange,
  page: MetricsPage,
  gate: Gate,
): Promise<void> {
  await gate.admitAddress(remoteAddress, []);
  if (request.method !== 'GET') {
    response.setHeader('allow', 'GET');
    answerError(response, 405, 'BAD_REQUEST', 'Metrics are read by GET.');
    return;
  }
  const isOpen = page.access === 'private' && comesFromPrivateNetwork(request);
  if (!isOpen && !(page.token !== undefined && hasBearer(request, page.token))) {
    const caller = await gate.identify(request.headers.authorization, remoteAddress);
    await gate.admit(caller, []);
    if (caller === null) {
      throw new DomainError(
        'UNAUTHENTICATED',
        'Metrics are read with a bearer token: METRICS_TOKEN, or of an operator.',
      );
    }
    if (!isOperator(caller)) {
      throw new DomainError(
        'FORBIDDEN',
        `Metrics need a token with role operator; this token has ${caller.roles.join(', ')}.`,
      );
    }
  }
  const text = await page.read();
  response.writeHead(200, { 'content-type': page.contentType });
  response.end(text);
}

function comesFromPrivateNetwork(request: IncomingMessage): boolean {
  return isPrivateAddress(request.socket.remoteAddress ?? '') && !isForwarded(request);
}
