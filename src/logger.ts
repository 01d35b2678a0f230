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

/** A chain of causes longer than this is a cycle. */
const MAX_CAUSES = 8;

/** `destination` takes the lines instead of the standard output. */
export function createLogger(
  options: { level: string; pretty: boolean },
  destination?: pino.DestinationStream,
): Logger {
  const settings: pino.LoggerOptions = {
    level: options.level,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[redacted]' },
    serializers: { err: (error: unknown) => describeError(error) },
    formatters: { log: withoutParameters },
    ...(options.pretty
      ? { transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', singleLine: true } } }
      : {}),
  };
  return destination ? pino(settings, destination) : pino(settings);
}

/**
 * Only what says what happened and where. Other properties of an error may hold anything: Drizzle's hold the
 * values of the statement that failed, Postgres's the row.
 */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? cutParameters(error) : typeof error;
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: cutParameters(error.message),
    ...(typeof code === 'string' ? { code } : {}),
    stack: framesOf(error),
    ...(error.cause === undefined || depth >= MAX_CAUSES
      ? {}
      : { cause: describeError(error.cause, depth + 1) }),
  };
}

/** The stack without the message that it repeats. */
function framesOf(error: Error): string {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}

/** For errors that are logged as their message alone. */
function withoutParameters(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? cutParameters(value) : value,
    ]),
  );
}

/** Drizzle's messages end with the values that the failed statement was given. */
function cutParameters(message: string): string {
  return message.startsWith('Failed query: ') ? message.replace(/\nparams: [^]*$/, '') : message;
}
