/**
 * Reads the body of a provider's callback, which names a session. All providers send the same form.
 */
import * as z from 'zod';
import { parseJson } from '../lib/parseJson.ts';
import { SESSION_ID_PATTERN, type ReadCallback } from './port.ts';

const bodySchema = z.object({ sessionId: z.string().regex(SESSION_ID_PATTERN) });

export function readCallbackBody(rawBody: Uint8Array): ReadCallback {
  const { data } = bodySchema.safeParse(parseJson(Buffer.from(rawBody).toString('utf8')));
  return data ?? { refusal: 'not-a-callback' };
}
