/**
 * Structured logs, with what must never be in a log taken out wherever it turns up.
 */
import pino from 'pino';

export type Logger = pino.Logger;

/** Field names that hold secrets or payout accounts, at the top and one level down. */
const SECRET_FIELDS = [
  'authorization',
  'token',
  'secret',
  'secretKey',
  'signature',
  'password',
  'payoutAccount',
  'accountNumber',
];

export function createLogger(options: { level: string; pretty: boolean }): Logger {
  return pino({
    level: options.level,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[redacted]' },
    ...(options.pretty ? { transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname' } } } : {}),
  });
}
