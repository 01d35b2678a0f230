/**
 * A database URL with an IPv6 address as its host.
 */
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTcpProxy } from '../../../devnet/tcpProxy.ts';
import { openDatabase } from '../../../src/db/connection.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it.runIf(hasIpv6)(
  `is migrated and asked${hasIpv6 ? '' : ' (SKIPPED: no IPv6 on this machine)'}`,
  async () => {
    // The tests' server listens on IPv4.
    const target = { port: Number(new URL(database.url).port), host: '127.0.0.1' };
    const proxy = await startTcpProxy(target, { listensOn: '::1' });
    const url = Object.assign(new URL(database.url), { host: `[::1]:${proxy.port}` }).href;
    expect(await migrate(url, ['platform'])).toEqual({ isNewer: false });
    const handle = openDatabase({ url, poolSize: 1, applicationName: 'test' });
    expect(await handle.sql`SELECT 1 AS one`).toMatchObject([{ one: 1 }]);
    await handle.close();
    await proxy.close();
  },
);
