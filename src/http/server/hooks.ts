/**
 * Webhook endpoints for the indexer and the ramp provider. The handler gets the raw bytes. The sender gets
 * 200 with an empty body, because it does not retry and must not learn the outcome. Only a body with a
 * content-encoding is refused with 415, and is not read.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { databaseUnavailable } from '../graphql/databaseUnavailable.ts';
import type { ThrottledLog } from '../../lib/throttledLog.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { readBody } from '../../lib/readBody.ts';
import { waitAtMost } from '../../lib/timeout.ts';
import { answerError, setHeaders } from './answers.ts';
import { ACCEPTED_ENCODING, encodingRefusal } from './contentEncoding.ts';
import type { Exchange } from './exchange.ts';
import type { Gate } from './gate.ts';
import { pathOf } from './requestTarget.ts';

/**
 * Fits a hundred retirements, the most that the embedded indexer sends at once; it splits longer deliveries.
 */
const MAX_HOOK_BYTES = 256 * 1024;
/** The longest that a sender waits; the handler continues after the answer. */
const MAX_HANDLING_MS = 10_000;

export interface HookDelivery {
  /** Unparsed, so that a signature can be checked over it. */
  body: Buffer;
  headers: IncomingHttpHeaders;
  requestId: string;
  remoteAddress: string;
}

/** Why a delivery is refused; null or undefined when it is accepted. */
type HookRefusal = string | null | undefined;

export type HookHandler = (delivery: HookDelivery) => Promise<HookRefusal>;

export type DeliveryOutcome = 'accepted' | 'refused' | 'failed';

export interface HookServices {
  gate: Pick<Gate, 'admitDelivery' | 'noteRefusedDelivery'>;
  /** Counts and logs refusals, which any client can cause as often as it likes. */
  refused: ThrottledLog;
  /** Once for each delivery, for metrics. */
  observe: (outcome: DeliveryOutcome) => void;
  log: Pick<Logger, 'error'>;
}

export async function answerHook(
  { request, response, requestId, remoteAddress }: Exchange,
  handler: HookHandler,
  { gate, refused, observe, log }: HookServices,
): Promise<void> {
  const path = pathOf(request);
  const refuse = (reason: string) => {
    observe('refused');
    refused.count({ paths: path, remoteAddresses: remoteAddress, reasons: reason });
  };
  try {
    await gate.admitDelivery(remoteAddress);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    refuse(error.code);
    // The body is not read.
    response.setHeader('connection', 'close');
    answerNothing(response);
    return;
  }
  const encoded = encodingRefusal(request.headers['content-encoding']);
  if (encoded !== null) {
    refuse('content-encoding');
    await gate.noteRefusedDelivery(remoteAddress);
    setHeaders(response, ['connection', 'close', ...Object.entries(ACCEPTED_ENCODING).flat()]);
    answerError(response, 415, 'BAD_REQUEST', encoded);
    return;
  }
  const body = await readBody(request, MAX_HOOK_BYTES);
  if (body === null) {
    refuse(`over ${MAX_HOOK_BYTES} bytes`);
    await gate.noteRefusedDelivery(remoteAddress);
    response.setHeader('connection', 'close');
  } else {
    const handled = handler({ body, headers: request.headers, requestId, remoteAddress }).then(
      (refusal) => {
        if (refusal == null) return observe('accepted');
        refuse(refusal);
        return gate.noteRefusedDelivery(remoteAddress);
      },
      (error: unknown) => {
        const refusal = error instanceof DomainError ? error : databaseUnavailable(error);
        if (refusal !== null) refuse(refusal.code);
        else {
          observe('failed');
          log.error({ requestId, remoteAddress, path, err: error }, 'a delivery could not be handled');
        }
      },
    );
    await waitAtMost(MAX_HANDLING_MS, handled);
  }
  answerNothing(response);
}

function answerNothing(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': '0' });
  response.end();
}
