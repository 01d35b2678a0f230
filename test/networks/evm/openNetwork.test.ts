/**
 * Opening the configured network, on a real EVM node: with which nodes and databases the server starts.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { claimInstallation } from '../../../src/ledger/network/claimInstallation.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { openConfiguredNetwork } from '../../../src/startup/openNetwork.ts';
import { explainStartupError } from '../../../src/startup/explainStartupError.ts';
import { startAnvil, type Anvil } from '../../../devnet/evm/anvil.ts';
import { startFaultyNode, type Rule } from '../../../devnet/evm/faultyNode.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { silentLog } from '../../../devnet/platform.ts';

let anvil: Anvil;
let database: TestDatabase;
let DATA_DIR: string;

beforeAll(async () => {
  anvil = await startAnvil();
  DATA_DIR = await mkdtemp(join(tmpdir(), 'open-network-'));
});
afterAll(async () => {
  await anvil.stop();
  await rm(DATA_DIR, { recursive: true, force: true });
});
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

async function open(more: Record<string, string> = {}) {
  const config = await loadConfig({
    DATA_DIR,
    LEDGER_NETWORK: 'evm',
    LEDGER_RPC_URL: anvil.url,
    LEDGER_CHAIN_ID: String(anvil.chainId),
    LEDGER_SECRET_KEY: anvil.accounts[0].secretKey,
    LEDGER_FACTORY_ADDRESS: `0x${randomBytes(20).toString('hex')}`,
    LEDGER_FINALITY: '0',
    ...more,
  });
  return openConfiguredNetwork(config, database.handle, silentLog);
}

async function firstStart(): Promise<void> {
  const { network } = await open();
  await claimInstallation(database.handle.db, network, systemClock);
}

/** Returns the terminal's message when the server does not start. */
async function refusal(start: Promise<unknown>): Promise<string | null> {
  return start.then(
    () => null,
    (error: unknown) => explainStartupError(error) ?? `a defect: ${String(error)}`,
  );
}

/** Nothing listens at this address. */
const AWAY = 'http://127.0.0.1:9/v3/hunter2';

describe('the server', () => {
  it('starts on a chain, without a control of its time', async () => {
    const { network, clockControl } = await open();
    expect(network.custodyAddress).toBe(anvil.accounts[0].address);
    expect(clockControl).toBeUndefined();
    await expect(network.status()).resolves.toMatchObject({ ledger: 0n });
  });

  it('refuses a node of another chain', async () => {
    const sentence = await refusal(open({ LEDGER_CHAIN_ID: '5' }));
    expect(sentence).toContain(`of chain ${anvil.chainId}, but LEDGER_CHAIN_ID is 5`);
  });

  it('refuses a node of another chain also where it has seen its own', async () => {
    await firstStart();
    const faulty = await startFaultyNode(anvil.url);
    try {
      faulty.obey(({ method }) => (method === 'eth_chainId' ? { result: '0x5' } : undefined));
      const sentence = await refusal(open({ LEDGER_RPC_URL: faulty.url }));
      expect(sentence).toContain(`of chain 5, but LEDGER_CHAIN_ID is ${anvil.chainId}`);
    } finally {
      await faulty.close();
    }
  });

  it('refuses a treasury that the signer can’t burn from', async () => {
    const other = anvil.accounts[1]?.address ?? '';
    expect(await refusal(open({ TREASURY_ADDRESS: other }))).toContain('TREASURY_ADDRESS');
    expect(await refusal(open({ TREASURY_ADDRESS: anvil.accounts[0].address.toLowerCase() }))).toBeNull();
  });

  it('does not tie its database to a chain that it has never seen', async () => {
    const sentence = await refusal(open({ LEDGER_RPC_URL: AWAY }));
    expect(sentence).toContain('The first start');
    expect(sentence).toContain('127.0.0.1:9');
    expect(sentence).not.toContain('hunter2');
  });

  it('does not tie its database to a chain whose first block its node is too busy to show', async () => {
    const faulty = await startFaultyNode(anvil.url);
    const throughIt = () => open({ LEDGER_RPC_URL: faulty.url });
    const isBusy: Rule = ({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === '0x0'
        ? { error: { code: -32005, message: 'rate limit exceeded' } }
        : undefined;
    try {
      faulty.obey(isBusy);
      const sentence = await refusal(throughIt());
      expect(sentence).toContain('The first start');
      expect(sentence).toContain('rate limit exceeded');
      faulty.obey();
      const { network } = await throughIt();
      expect(network.networkId).toMatch(/^eip155:31337:0x[0-9a-f]{64}$/);
      await claimInstallation(database.handle.db, network, systemClock);
      // The database knows the chain from here on.
      faulty.obey(isBusy);
      expect(await refusal(throughIt())).toBeNull();
    } finally {
      await faulty.close();
    }
  });

  it('starts while a chain that it has seen is away', async () => {
    await firstStart();
    const { network } = await open({ LEDGER_RPC_URL: AWAY });
    await claimInstallation(database.handle.db, network, systemClock);
    await expect(network.status()).rejects.toThrow(NetworkUnavailable);
  });

  it('asks a node that was away at the start for its chain first', async () => {
    await firstStart();
    const faulty = await startFaultyNode(anvil.url);
    try {
      faulty.obey(() => 'cut');
      const { network } = await open({ LEDGER_RPC_URL: faulty.url });
      faulty.obey(({ method }) => (method === 'eth_chainId' ? { result: '0x5' } : undefined));
      await expect(network.status()).rejects.toThrow(`of chain 5, but LEDGER_CHAIN_ID is ${anvil.chainId}`);
    } finally {
      await faulty.close();
    }
  });

  it('refuses a database of a chain that began anew', async () => {
    await firstStart();
    const namesake = await startAnvil({ genesisTimestamp: 1_700_000_000 });
    try {
      const { network } = await open({ LEDGER_RPC_URL: namesake.url });
      const claimed = refusal(claimInstallation(database.handle.db, network, systemClock));
      expect(await claimed).toContain('This database belongs to network "evm"');
    } finally {
      await namesake.stop();
    }
  });

  it('refuses a database of another signer', async () => {
    await firstStart();
    const { network } = await open({ LEDGER_SECRET_KEY: anvil.accounts[1]?.secretKey ?? '' });
    const claimed = refusal(claimInstallation(database.handle.db, network, systemClock));
    expect(await claimed).toContain(anvil.accounts[0].address);
  });
});
