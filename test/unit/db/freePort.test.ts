/**
 * Ports for servers that take their port as an option. The system gives ports from 32768 on to outgoing
 * connections, which must not take a free port before the server listens on it.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { freePort } from '../../../src/db/embedded/freePort.ts';

it('is free, and is none that an outgoing connection is given', async () => {
  for (let i = 0; i < 20; i++) {
    const port = await freePort();
    expect(port).toBeLessThan(32_768);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
  }
});
