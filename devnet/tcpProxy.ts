/**
 * A TCP proxy with the faults of networks, for any protocol: it cuts, resets, goes silent, is slow, passes
 * only one direction, or loses the answer to a delivered question.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export const LINK_FAULTS = ['cut', 'reset', 'silent', 'slow', 'half-open', 'answer-lost'] as const;
export type LinkFault = (typeof LINK_FAULTS)[number];

export interface TcpProxy {
  port: number;
  /**
   * Applies the fault to open and new connections until `heal`. A silent connection stays silent, as behind a
   * firewall that forgot it: only its ends can find that out.
   */
  suffer(fault: LinkFault): void;
  heal(): void;
  /** Applies the fault only to open connections; new ones pass. */
  strike(fault: 'cut' | 'reset' | 'silent'): void;
  /** Called once, when the next answer arrives, before it is passed on. */
  atNextAnswer(act: () => void): void;
  close(): Promise<void>;
}

/** Follows the data of one connection, for faults that depend on the protocol. */
export interface Reader {
  readQuestion(chunk: Buffer): void;
  /** @returns the parts to pass on; at null the connection is cut */
  readAnswer(chunk: Buffer): Iterable<Buffer | null>;
}

interface Endpoint {
  port: number;
  host: string;
}

interface Pair {
  client: Socket;
  server: Socket;
  fault: LinkFault | null;
}

/** Slow for a person, and shorter than the timeouts of programs. */
const SLOW_BY_MS = 400;

export async function startTcpProxy(
  target: Endpoint,
  { listensOn = '127.0.0.1', createReader }: { listensOn?: string; createReader?: () => Reader } = {},
): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  let present: LinkFault | null = null;
  let atAnswer: (() => void) | null = null;

  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    if (present === 'cut' || present === 'reset') {
      client.on('error', () => {});
      client.resetAndDestroy();
      return;
    }
    const pair: Pair = { client, server: connect({ ...target, noDelay: true }), fault: present };
    pairs.add(pair);
    const end = () => {
      // The other end of a lost connection does not learn of this end's close.
      if (pair.fault === 'silent' || pair.fault === 'half-open') return;
      destroy(pair);
    };
    for (const socket of [client, pair.server]) socket.on('error', end).on('end', end).on('close', end);
    pair.server.on('data', () => {
      atAnswer?.();
      atAnswer = null;
    });
    relay(pair, createReader?.(), () => destroy(pair));
  });
  await once(listener.listen(0, listensOn), 'listening');

  function destroy(pair: Pair, isReset = false): void {
    pairs.delete(pair);
    if (isReset) pair.client.resetAndDestroy();
    else pair.client.destroy();
    pair.server.destroy();
  }

  function suffer(fault: LinkFault): void {
    present = fault;
    for (const pair of pairs) {
      if (fault === 'cut' || fault === 'reset') destroy(pair, fault === 'reset');
      else pair.fault = fault;
    }
  }

  function heal(): void {
    present = null;
    for (const pair of pairs) {
      if (pair.fault === 'slow' || pair.fault === 'answer-lost') pair.fault = null;
    }
  }

  return {
    port: (listener.address() as AddressInfo).port,
    suffer,
    heal,
    strike(fault) {
      suffer(fault);
      heal();
    },
    atNextAnswer(act) {
      atAnswer = act;
    },
    async close() {
      for (const pair of pairs) destroy(pair);
      await once(listener.close(), 'close');
    },
  };
}

function relay(pair: Pair, reader: Reader | undefined, cut: () => void): void {
  const { client, server } = pair;
  client.on('data', (chunk: Buffer) => {
    if (pair.fault === 'silent') return;
    reader?.readQuestion(chunk);
    pass(pair, server, chunk);
  });
  server.on('data', (chunk: Buffer) => {
    if (pair.fault === 'silent' || pair.fault === 'half-open') return;
    if (pair.fault === 'answer-lost') return cut();
    for (const part of reader?.readAnswer(chunk) ?? [chunk]) {
      if (part === null) return cut();
      pass(pair, client, part);
    }
  });
}

function pass({ fault }: Pair, to: Socket, chunk: Buffer): void {
  if (fault === 'slow') setTimeout(() => to.writable && to.write(chunk), SLOW_BY_MS);
  else to.write(chunk);
}
