/**
 * GET /logs/…: the transparency logs as files, which clients and proxies may keep.
 */
import type { ConcurrencyLimit } from '../../lib/concurrencyLimit.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { BYTES_PER_MS } from '../graphql/answerLimits.ts';
import type { ChargeCpu } from '../graphql/chargeCpu.ts';
import { answerError } from './answers.ts';
import type { Exchange } from './exchange.ts';

export const LOGS_PATH = '/logs/';

interface LogFile {
  body: string | Buffer;
  contentType: string;
  /** How long clients and proxies may keep the file. */
  keptSeconds: number;
}

/** Null when there is no such file. */
export type ReadLogFile = (path: string) => Promise<LogFile | null>;

interface LogFileServices {
  read: ReadLogFile;
  /**
   * Without places, one address could queue reads on hundreds of connections at the database, before all
   * other requests.
   */
  places: Pick<ConcurrencyLimit, 'take'>;
  chargeCpu: ChargeCpu;
}

/** @throws DomainError OVERLOADED */
export async function answerLogFile(
  { request, response, remoteAddress }: Exchange,
  path: string,
  { read, places, chargeCpu }: LogFileServices,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    answerError(response, 405, 'BAD_REQUEST', 'The logs are read by GET.');
    return;
  }
  const giveBack = await places.take(addressKey(remoteAddress));
  const file = await read(path.slice(LOGS_PATH.length)).finally(giveBack);
  if (file === null) {
    answerError(response, 404, 'NOT_FOUND', 'The transparency logs have nothing at this address (yet).');
    return;
  }
  const body = Buffer.from(file.body);
  chargeCpu(remoteAddress, body.length / BYTES_PER_MS);
  response.writeHead(200, {
    'content-type': file.contentType,
    'content-length': body.length,
    'cache-control': `public, max-age=${file.keptSeconds}`,
    // The logs are public, the same for everyone and need no credentials, so pages of other origins may
    // verify them.
    'access-control-allow-origin': '*',
  });
  // Node leaves the body out of the answer to HEAD.
  response.end(body);
}
