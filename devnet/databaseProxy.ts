/**
 * A TCP proxy in front of PostgreSQL that also loses the answer of a commit that took effect. It reads only
 * as much of the wire protocol as shows a transaction's statements.
 */
import { startTcpProxy, type Reader, type TcpProxy } from './tcpProxy.ts';

/**
 * Called when the server has committed, with the statements since BEGIN, or the one outside a transaction.
 * True cuts the connection instead of answering.
 */
type CommitPlan = (statements: readonly string[]) => boolean;

export interface DatabaseProxy extends TcpProxy {
  /** The database's url, through the proxy. */
  url: string;
  /** Replaces the plan; until the first one, every answer passes. */
  loseCommitsWhen(plan: CommitPlan): void;
}

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const url = new URL(databaseUrl);
  let plan: CommitPlan = () => false;
  const target = { port: Number(url.port), host: url.hostname };
  const createReader = () => createCommitReader((statements) => plan(statements));
  const proxy = await startTcpProxy(target, { createReader });
  url.port = String(proxy.port);
  return {
    ...proxy,
    url: url.href,
    loseCommitsWhen(next) {
      plan = next;
    },
  };
}

function createCommitReader(isLost: CommitPlan): Reader {
  const statements = createStatementLog();
  const answers = createMessageReader({ hasStartup: false });
  let isInTransaction = false;
  return {
    readQuestion: statements.read,
    *readAnswer(chunk) {
      for (const message of answers.read(chunk)) {
        const command = completedCommand(message);
        if (command === 'BEGIN') {
          statements.clear();
          isInTransaction = true;
        }
        if (command === 'COMMIT' && isLost(statements.list())) return yield null;
        if (isReadyAndIdle(message)) {
          // A statement outside a transaction is committed by now; only this message shows that it was
          // answered.
          if (!isInTransaction && isLost(statements.list())) return yield null;
          statements.clear();
          isInTransaction = false;
        }
        yield message;
      }
    },
  };
}

/**
 * The statements of a connection. A statement is bound by its name later, so the log keeps the parsed texts.
 */
function createStatementLog() {
  const messages = createMessageReader({ hasStartup: true });
  const textOf = new Map<string, string>();
  let log: string[] = [];
  return {
    read(chunk: Buffer): void {
      for (const message of messages.read(chunk)) {
        const [first = '', second = ''] = message.toString('utf8', 5).split('\0');
        const type = String.fromCharCode(message[0] ?? 0);
        if (type === 'Q') log.push(first);
        if (type === 'P') textOf.set(first, second);
        if (type === 'B') log.push(textOf.get(second) ?? '');
      }
    },
    clear(): void {
      log = [];
    },
    list: (): readonly string[] => log,
  };
}

/** `BEGIN`, `COMMIT`, `INSERT`, … if the message reports the end of a statement. */
function completedCommand(message: Buffer): string | null {
  if (message[0] !== 'C'.charCodeAt(0)) return null;
  return message.toString('utf8', 5).split(/[ \0]/)[0] ?? null;
}

/** ReadyForQuery, outside of a transaction. */
function isReadyAndIdle(message: Buffer): boolean {
  return message[0] === 'Z'.charCodeAt(0) && message[5] === 'I'.charCodeAt(0);
}

/** Cuts a stream into the protocol's messages. A client's first message, the startup, has no type byte. */
function createMessageReader({ hasStartup }: { hasStartup: boolean }) {
  let rest: Buffer = Buffer.alloc(0);
  let typeBytes = hasStartup ? 0 : 1;
  return {
    read(chunk: Buffer): Buffer[] {
      rest = Buffer.concat([rest, chunk]);
      const messages: Buffer[] = [];
      while (rest.length >= typeBytes + 4) {
        const length = typeBytes + rest.readUInt32BE(typeBytes);
        if (rest.length < length) break;
        messages.push(rest.subarray(0, length));
        rest = rest.subarray(length);
        typeBytes = 1;
      }
      return messages;
    },
  };
}
