/**
 * From its first start on, a database belongs to one network and one custody signer.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import {
  checkInstallation,
  claimInstallation,
  WrongInstallation,
} from '../../../src/ledger/network/claimInstallation.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

const chain = (networkId: string, custodyAddress = '0xC') => ({ name: 'evm', networkId, custodyAddress });
const claim = (network: ReturnType<typeof chain>) =>
  claimInstallation(database.handle.db, network, systemClock);

describe('a database', () => {
  it('belongs to no network until a server starts on it, and then to that network alone', async () => {
    expect(await checkInstallation(database.handle.db, chain('eip155:5'))).toBe(false);
    await claim(chain('eip155:5'));
    expect(await checkInstallation(database.handle.db, chain('eip155:5'))).toBe(true);
    await expect(claim(chain('eip155:50'))).rejects.toThrow(WrongInstallation);
    await expect(claim(chain('eip155:5', '0xD'))).rejects.toThrow(/0xC[^]*0xD[^]*LEDGER_SECRET_KEY/);
  });

  it('knows a chain by its first block from its namesakes, and without it when the node is away', async () => {
    await claim(chain('eip155:31337:0xaa'));
    await claim(chain('eip155:31337'));
    await expect(claim(chain('eip155:31337:0xbb'))).rejects.toThrow(WrongInstallation);
    await expect(claim(chain('eip155:313370'))).rejects.toThrow(WrongInstallation);
    await claim(chain('eip155:31337:0xaa'));
  });
});
