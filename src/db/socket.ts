/**
 * The sockets of connections to PostgreSQL.
 */
import { connect, type Socket } from 'node:net';
import { ConnectionLost } from './connectionLost.ts';

export interface SocketAddress {
  host: string[];
  port: number[];
  /** The path of a Unix socket; false for TCP. */
  path: string | false;
}

/** Opens a socket to the first server in the address: primary.ts gives each client one server. */
export async function openSocket(
  { host: [host], port: [port = 5432], path }: SocketAddress,
  onOpening: (socket: Socket) => void,
): Promise<Socket> {
  if (path) return opened(connect({ path }), onOpening);
  const socket = connect({ host, port, noDelay: true });
  // postgres.js reads here the name that a certificate must have.
  return opened(Object.assign(socket, { host }), onOpening);
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
