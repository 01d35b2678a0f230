/**
 * A free port of the loopback interface, for a server that takes its port as an option. Another server may
 * take the port first, so a caller binds it at once, and tries again when it is taken.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ports of outgoing connections (Linux: from 32768), which could take one in the meantime. */
const FIRST_PORT = 15_000;
const LAST_PORT = 32_000;
/** Most ports are free: this many failures in a row mean that no port can be bound at all. */
const MAX_ATTEMPTS = 50;

/** @throws the system's error when none can be bound */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    try {
      await bind(port);
      return port;
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function bind(port: number): Promise<void> {
  const probe = createServer();
  await new Promise<void>((listening, failed) => {
    probe.once('error', failed);
    probe.listen(port, '127.0.0.1', listening);
  });
  await new Promise((closed) => probe.close(closed));
}
