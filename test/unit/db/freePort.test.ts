/**
 * Ports for servers that take one as an option: outgoing connections, which the system gives the ports from 32768 on, must
 * not take them before they are listened on.
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
