/**
 * Logs one line for each operation, without secret or personal data.
 */
import type { ExecutionArgs, ExecutionResult, OperationDefinitionNode } from 'graphql';
import { getOperationAST } from 'graphql';
import type { Logger } from '../../lib/logger.ts';
import type { Context } from '../../schema/core/context.ts';
import { unansweredBecause } from './errors.ts';
import { describeDocument, describeVariables, shownNames } from './describeOperation.ts';
import { rootFields } from './rootFields.ts';
import type { TransportContext } from './transportContext.ts';

export type OperationLogger = Pick<Logger, 'info' | 'debug' | 'isLevelEnabled'>;

/** Enough to recognise a name. */
const MAX_NAME_CHARACTERS = 64;

export interface OperationLog {
  /** @param events the number of events of a subscription that has ended */
  logResult(args: ExecutionArgs, result: ExecutionResult, events?: number): void;
  /** Logs a request that was refused before it became an operation, unless its line is already logged. */
  logRefusal(context: TransportContext, errors: ExecutionResult['errors']): void;
}

/** Called once for each operation, as a part of every request: it must only count. */
export type ObserveOperation = (about: {
  transport: TransportContext['transport'];
  /** Undefined for a request that did not become an operation. */
  type: string | undefined;
  outcome: string;
  durationMs: number;
}) => void;

export function createOperationLog(log: OperationLogger, observe: ObserveOperation = () => {}): OperationLog {
  const aboutOperation = createDescriptions(log);
  const write = (context: TransportContext, about: Description, errors: ExecutionResult['errors']) => {
    const { trace, requestId, clientRequestId, remoteAddress, transport, caller } = context;
    if (trace.isLogged) return;
    trace.isLogged = true;
    const { operation, type, fields, events, details } = about;
    const outcome = outcomeOf(errors);
    const durationMs = performance.now() - trace.startedAtMs;
    observe({ transport, type, outcome, durationMs });
    // The object always has the same shape, because it is written for each request. The line leaves out
    // undefined values.
    const line = {
      operation,
      type,
      fields,
      events,
      outcome,
      caller: caller?.subject ?? null,
      apiKeyId: caller?.apiKeyId ?? undefined,
      durationMs: Math.round(durationMs),
      requestId,
      clientRequestId,
      transport,
      remoteAddress,
      cost: trace.cost,
      query: details?.query,
      variables: details?.variables,
    };
    const err = errors?.[0] && unansweredBecause(errors[0]);
    // A flood of requests must not flood the log.
    if (outcome === 'RATE_LIMITED') log.debug(line, 'operation');
    else log.info(err === undefined ? line : { ...line, err }, 'operation');
  };
  const writeResult = (args: ExecutionArgs, result: ExecutionResult, events?: number) => {
    const about = aboutOperation(args);
    write(
      args.contextValue as TransportContext & Context<unknown>,
      events === undefined ? about : { ...about, events },
      result.errors,
    );
  };
  return {
    logResult: writeResult,
    logRefusal: (context, errors) => write(context, {}, errors),
  };
}

function outcomeOf(errors: ExecutionResult['errors']): string {
  const [first] = errors ?? [];
  return first === undefined ? 'OK' : String(first.extensions['code']);
}

/** The part of a log line that describes the operation. */
interface Description {
  operation?: string | null;
  type?: string;
  fields?: readonly string[];
  events?: number;
  details?: { query: unknown; variables: unknown };
}

/** Describes each parsed document once, except for the variables. */
function createDescriptions(log: OperationLogger): (args: ExecutionArgs) => Description {
  const known = new WeakMap<OperationDefinitionNode, Description>();
  return (args) => {
    const operation = getOperationAST(args.document, args.operationName);
    if (operation == null) return {};
    const before = known.get(operation);
    if (before !== undefined && !log.isLevelEnabled('debug')) return before;
    const fields = [...new Set(rootFields(args.document, operation).map(({ name }) => name))];
    const about = {
      operation: operation.name?.value.slice(0, MAX_NAME_CHARACTERS) ?? null,
      type: operation.operation,
      fields: fields.slice(0, MAX_LOGGED_FIELDS),
    };
    known.set(operation, about);
    if (!log.isLevelEnabled('debug')) return about;
    return { ...about, details: detailsOf(args, shownNames(args.schema, operation.operation, fields)) };
  };
}

const MAX_LOGGED_FIELDS = 10;

function detailsOf({ document, variableValues }: ExecutionArgs, shown: ReadonlySet<string>) {
  return { query: describeDocument(document), variables: describeVariables(variableValues, shown) };
}
