/**
 * A database whose address has an IPv6 address for its host.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase } from '../../../src/db/connection.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

let database: TestDatabase;
let proxy: Server;
let url: string;

beforeAll(async () => {
  database = await createTestDatabase();
  // The server of the tests listens on IPv4.
  const port = Number(new URL(database.url).port);
  proxy = createServer((socket) => socket.pipe(connect(port, '127.0.0.1')).pipe(socket));
  proxy.listen(0, hasIpv6 ? '::1' : '127.0.0.1');
  await once(proxy, 'listening');
  url = Object.assign(new URL(database.url), { host: `[::1]:${(proxy.address() as AddressInfo).port}` }).href;
});
afterAll(async () => {
  proxy.close();
  await database.drop();
});

it.runIf(hasIpv6)(
  `is migrated and asked${hasIpv6 ? '' : ' (SKIPPED: no IPv6 on this machine)'}`,
  async () => {
    expect(await migrate(url, ['platform'])).toEqual({ isNewer: false });
    const handle = openDatabase({ url, poolSize: 1, applicationName: 'test' });
    expect(await handle.sql`SELECT 1 AS one`).toMatchObject([{ one: 1 }]);
    await handle.close();
  },
);
