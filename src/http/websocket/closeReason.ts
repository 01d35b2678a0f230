/** The close code of a client that sends more than a limit allows. */
export const TOO_MANY = 4429;
/** RFC 6455: a close frame has 123 bytes for the reason. */
const MAX_REASON_BYTES = 123;

/**
 * The reason as far as it fits. ws throws for a longer one and sends no close frame, so the socket would stay
 * open until its client ends it.
 */
export function closeReason(text: string): string {
  return Buffer.from(text)
    .subarray(0, MAX_REASON_BYTES)
    .toString()
    .replace(/\uFFFD$/, '');
}
