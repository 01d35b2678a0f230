/**
 * The sockets of connections to PostgreSQL.
 */
import { connect, type Socket } from 'node:net';
import { ConnectionLost } from './connectionLost.ts';

export interface SocketAddress {
  host: string[];
  port: number[];
  /** Of a Unix socket; false for TCP. */
  path: string | false;
}

/** An address may name several servers; the first one that can be connected to is taken. */
export async function connectToFirst(
  { host: hosts, port: ports, path }: SocketAddress,
  onOpening: (socket: Socket) => void,
): Promise<Socket> {
  if (path) return opened(connect({ path }), onOpening);
  let failure: unknown;
  for (const [i, host] of hosts.entries()) {
    try {
      const socket = connect({ host, port: ports[i] ?? 5432, noDelay: true });
      // Where postgres.js looks for the name that a certificate must have.
      return await opened(Object.assign(socket, { host }), onOpening);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function opened(socket: Socket, onOpening: (socket: Socket) => void): Promise<Socket> {
  onOpening(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject);
    socket.once('close', () => reject(new ConnectionLost('The connection to the database ended')));
  });
  socket.removeAllListeners();
  return socket;
}
