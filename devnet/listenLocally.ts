/**
 * Opens a server on a free port of this machine alone.
 */
import type { Server } from 'node:http';

/** @returns its address, without a slash at the end */
export async function listenLocally(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('The server has no port');
  return `http://127.0.0.1:${bound.port}`;
}
