/**
 * Opens a server on a free port, for this machine only.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LocalServer {
  /** Without a slash at the end. */
  url: string;
  /** Also closes open connections: a waiting one would delay the end. */
  close(): Promise<void>;
}

export async function listenLocally(server: Server): Promise<LocalServer> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
