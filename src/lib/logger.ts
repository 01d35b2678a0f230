/**
 * Structured logs, with secrets and payout accounts removed.
 */
import pino from 'pino';
import { innermost, MAX_CAUSES } from './errors.ts';
import { linesByTurn } from './linesByTurn.ts';
import { createLogOutput, unblockerOf } from './logOutput.ts';

export type Logger = pino.Logger;

/** Names of fields that hold secrets or payout accounts, at the top and one level down. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'authorization',
  'token',
  'secret',
  'secretKey',
  'signature',
  'password',
  'payoutAccount',
  'accountNumber',
]);
const REDACTED = '[redacted]';

/** Some nodes put whole traces into their messages. */
const MAX_MESSAGE_CHARACTERS = 2_000;

/** `destination` replaces the standard output. */
export function createLogger(
  options: { level: string; pretty: boolean },
  destination?: pino.DestinationStream,
): Logger {
  const settings: pino.LoggerOptions = {
    level: options.level,
    serializers: { err: describeLogged },
    hooks: { logMethod: logBriefly },
    // pino's own redaction is not used: it compiles its paths again for each line.
    formatters: { log: withoutSecrets },
    ...(options.pretty
      ? { transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', singleLine: true } } }
      : {}),
  };
  if (destination) return pino(settings, destination);
  if (options.pretty) return pino(settings);
  const logger: Logger = pino(
    settings,
    standardOutput((lines) => logger.error({ lines }, 'lines of this log are lost: its output took none')),
  );
  return logger;
}

function standardOutput(onLost: (lines: number) => void): pino.DestinationStream {
  const { stdout } = process;
  const output = createLogOutput({ fd: stdout.fd, onLost, unblock: unblockerOf(stdout) });
  const lines = linesByTurn(output.write);
  process.once('exit', () => {
    output.beginExit();
    lines.flush();
  });
  return lines;
}

/** The `err` of a line below the level error: unless it is a defect, its stack is useless and left out. */
class BriefError {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

const ERROR = pino.levels.values['error'] ?? 0;

function logBriefly(this: Logger, args: Parameters<pino.LogFn>, log: pino.LogFn, level: number): void {
  const fields: unknown = args[0];
  if (level < ERROR && typeof fields === 'object' && fields !== null && 'err' in fields) {
    args[0] = { ...fields, err: new BriefError(fields.err) };
  }
  log.apply(this, args);
}

function describeLogged(error: unknown): unknown {
  return error instanceof BriefError
    ? describeError(error.error, { withStack: isDefect(error.error) })
    : describeError(error, { withStack: true });
}

/** `fetch` wraps a failure of the network in a TypeError, with that failure as its cause. */
function isDefect(error: unknown): boolean {
  const root = innermost(error);
  return root instanceof TypeError || root instanceof ReferenceError || root instanceof RangeError;
}

/**
 * Returns only the type, message, code, stack and cause. Other properties of an error may hold confidential
 * values: Drizzle's hold the failed statement's parameters, PostgreSQL's the row.
 */
function describeError(error: unknown, options: { withStack: boolean }, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? shorten(error) : typeof error;
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: shorten(error.message),
    ...(typeof code === 'string' ? { code } : {}),
    ...(options.withStack && { stack: framesOf(error) }),
    ...(error.cause === undefined || depth >= MAX_CAUSES
      ? {}
      : { cause: describeError(error.cause, options, depth + 1) }),
  };
}

/** The stack without the message, which it repeats. */
function framesOf(error: Error): string {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}

/**
 * Removes secret fields, and parameters from texts that quote an error's message. The fields are copied only
 * if there is something to remove: most lines have nothing.
 */
function withoutSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  let safe: Record<string, unknown> | undefined;
  for (const name in fields) {
    const value = fields[name];
    const shown = SECRET_FIELDS.has(name) ? REDACTED : withoutSecretsInside(value);
    if (shown !== value) (safe ??= { ...fields })[name] = shown;
  }
  return safe ?? fields;
}

function withoutSecretsInside(value: unknown): unknown {
  if (typeof value === 'string') return cutParameters(value);
  // An error has a serializer, which shows none of its own fields.
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if (!Object.keys(value).some((name) => SECRET_FIELDS.has(name))) return value;
  const entries = Object.entries(value).map(([name, inner]) => [
    name,
    SECRET_FIELDS.has(name) ? REDACTED : (inner as unknown),
  ]);
  return Object.fromEntries(entries);
}

function shorten(message: string): string {
  const text = cutParameters(message);
  return text.length > MAX_MESSAGE_CHARACTERS ? `${text.slice(0, MAX_MESSAGE_CHARACTERS)}…` : text;
}

/** Drizzle's messages end with the parameters of the failed statement. */
function cutParameters(message: string): string {
  return message.startsWith('Failed query: ') ? message.replace(/\nparams: [^]*$/, '') : message;
}
