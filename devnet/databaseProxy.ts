/**
 * A TCP proxy in front of PostgreSQL that misbehaves the way networks do: it loses the answer of a commit that
 * took effect, cuts connections, or goes silent. It reads just enough of the wire protocol to know what a transaction did.
 */
import { once } from 'node:events';
import { connect as connectTo, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * Asked when the server has committed, with the statements since BEGIN, or the one that was sent by itself: true cuts
 * instead of answering.
 */
type CommitPlan = (statements: readonly string[]) => boolean;

export interface DatabaseProxy {
  /** The database's url, through the proxy. */
  url: string;
  /** Replaces the plan; until the first one, every answer passes. */
  loseCommitsWhen(plan: CommitPlan): void;
  /** Ends every connection at once: in order, or by a reset as when a machine is gone. */
  cutAll(how: 'ended' | 'reset'): void;
  /** Forwards nothing more on the connections that are open now, ends included; new ones pass. */
  silenceAll(): void;
  close(): Promise<void>;
}

interface Pair {
  client: Socket;
  server: Socket;
  isSilent: boolean;
}

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const url = new URL(databaseUrl);
  const target = { port: Number(url.port), host: url.hostname };
  const pairs = new Set<Pair>();
  let plan: CommitPlan = () => false;

  // Without a delay: an answer goes out message by message, and 40 ms would pass between them.
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const pair = { client, server: connectTo({ ...target, noDelay: true }), isSilent: false };
    const cut = () => {
      if (pair.isSilent) return;
      pairs.delete(pair);
      client.destroy();
      pair.server.destroy();
    };
    pairs.add(pair);
    for (const socket of [client, pair.server]) socket.on('error', cut).on('end', cut).on('close', cut);
    relay(pair, (statements) => plan(statements), cut);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  url.port = String((listener.address() as AddressInfo).port);

  function cutAll(how: 'ended' | 'reset'): void {
    for (const { client, server } of pairs) {
      if (how === 'reset') client.resetAndDestroy();
      else client.destroy();
      server.destroy();
    }
  }

  return {
    url: url.href,
    loseCommitsWhen(next) {
      plan = next;
    },
    cutAll,
    silenceAll() {
      for (const pair of pairs) pair.isSilent = true;
    },
    async close() {
      cutAll('ended');
      listener.close();
      await once(listener, 'close');
    },
  };
}

function relay(pair: Pair, isLost: CommitPlan, cut: () => void): void {
  const { client, server } = pair;
  const statements = createStatementLog();
  const answers = createMessageReader({ hasStartup: false });
  let isInTransaction = false;
  client.on('data', (chunk) => {
    if (pair.isSilent) return;
    statements.read(chunk);
    server.write(chunk);
  });
  server.on('data', (chunk) => {
    if (pair.isSilent) return;
    for (const message of answers.read(chunk)) {
      const command = completedCommand(message);
      if (command === 'BEGIN') {
        statements.clear();
        isInTransaction = true;
      }
      if (command === 'COMMIT' && isLost(statements.list())) return cut();
      if (isReadyAndIdle(message)) {
        // A statement by itself is committed by now, and not known as answered before this message.
        if (!isInTransaction && isLost(statements.list())) return cut();
        statements.clear();
        isInTransaction = false;
      }
      client.write(message);
    }
  });
}

/** What a connection said, by the texts that it had parsed before: a statement is bound by name later. */
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

/** `BEGIN`, `COMMIT`, `INSERT`, … when the message says that a statement is done. */
function completedCommand(message: Buffer): string | null {
  if (message[0] !== 'C'.charCodeAt(0)) return null;
  return message.toString('utf8', 5).split(/[ \0]/)[0] ?? null;
}

/** ReadyForQuery, outside of a transaction. */
function isReadyAndIdle(message: Buffer): boolean {
  return message[0] === 'Z'.charCodeAt(0) && message[5] === 'I'.charCodeAt(0);
}

/** Cuts a stream into the protocol's messages; a client's first one, the startup, has no type byte. */
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
