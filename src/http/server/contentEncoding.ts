import { showValue } from '../../schema/core/showValue.ts';

/** Of a 415, so that a client knows what to send instead. */
export const ACCEPTED_ENCODING = { 'accept-encoding': 'identity' } as const;

/**
 * Why a body is not read: no limit would hold for compressed text, and signatures are over the sent bytes.
 */
export function encodingRefusal(encoding: string | null | undefined): string | null {
  if (encoding == null || /^(identity)?$/i.test(encoding.trim())) return null;
  return `The body has the content-encoding ${showValue(encoding)}. Send it as it is, without one.`;
}
