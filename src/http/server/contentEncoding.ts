import { showValue } from '../../schema/core/showValue.ts';

/** Of a 415, so that a client knows what to send instead. */
export const ACCEPTED_ENCODING = { 'accept-encoding': 'identity' } as const;

/** Why a body is not read. What is compressed would be held to no limit, and a signature is over what was sent. */
export function encodingRefusal(encoding: string | null | undefined): string | null {
  if (encoding == null || /^(identity)?$/i.test(encoding.trim())) return null;
  return `The body has the content-encoding ${showValue(encoding)}. Send it as it is, without one.`;
}
