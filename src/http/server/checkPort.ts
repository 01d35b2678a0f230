/**
 * Checks that this process may listen on its port, before a failing start could leave anything behind.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** @throws the system's own error of `listen`: EADDRINUSE, EADDRNOTAVAIL, EACCES, … */
export async function checkPort(port: number, host: string): Promise<void> {
  const probe = createServer().listen(port, host);
  await once(probe, 'listening');
  probe.close();
  await once(probe, 'close');
}
