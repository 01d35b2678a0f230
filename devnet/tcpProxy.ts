/**
 * A TCP proxy that misbehaves the way networks do, whatever is spoken through it: it cuts, resets, goes silent, is slow, lets
 * only one direction through, or loses the answer to what it has delivered.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export const LINK_FAULTS = ['cut', 'reset', 'silent', 'slow', 'half-open', 'answer-lost'] as const;
export type LinkFault = (typeof LINK_FAULTS)[number];

export interface TcpProxy {
  port: number;
  /**
   * From now on, on the open connections and on new ones, until `heal`. What fell silent stays so, as behind a firewall that
   * forgot it: only its ends can find that out.
   */
  suffer(fault: LinkFault): void;
  heal(): void;
  /** Called, once, when the next answer arrives, before it is passed on. */
  atNextAnswer(act: () => void): void;
  close(): Promise<void>;
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

/** Between the patience of a person and the time-outs of programs. */
const SLOW_BY_MS = 400;

export async function startTcpProxy(target: Endpoint, listensOn = '127.0.0.1'): Promise<TcpProxy> {
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
      // The other end of a lost connection hears nothing of its end.
      if (pair.fault === 'silent' || pair.fault === 'half-open') return;
      destroy(pair);
    };
    for (const socket of [client, pair.server]) socket.on('error', end).on('end', end).on('close', end);
    client.on('data', (chunk) => pass(pair, pair.server, chunk));
    pair.server.on('data', (chunk) => {
      atAnswer?.();
      atAnswer = null;
      if (pair.fault === 'half-open') return;
      if (pair.fault === 'answer-lost') destroy(pair);
      else pass(pair, client, chunk);
    });
  });
  listener.listen(0, listensOn);
  await once(listener, 'listening');

  function pass({ fault }: Pair, to: Socket, chunk: Buffer): void {
    if (fault === 'silent') return;
    if (fault === 'slow') setTimeout(() => to.writable && to.write(chunk), SLOW_BY_MS);
    else to.write(chunk);
  }

  function destroy(pair: Pair, isReset = false): void {
    pairs.delete(pair);
    if (isReset) pair.client.resetAndDestroy();
    else pair.client.destroy();
    pair.server.destroy();
  }

  return {
    port: (listener.address() as AddressInfo).port,
    suffer(fault) {
      present = fault;
      for (const pair of pairs) {
        if (fault === 'cut' || fault === 'reset') destroy(pair, fault === 'reset');
        else pair.fault = fault;
      }
    },
    heal() {
      present = null;
      for (const pair of pairs) {
        if (pair.fault === 'slow' || pair.fault === 'answer-lost') pair.fault = null;
      }
    },
    atNextAnswer(act) {
      atAnswer = act;
    },
    async close() {
      for (const pair of pairs) destroy(pair);
      listener.close();
      await once(listener, 'close');
    },
  };
}
