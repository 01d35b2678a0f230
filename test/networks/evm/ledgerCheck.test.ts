/**
 * ledger:check on a real EVM node with the test contracts: each problem that the adapter finds comes with a
 * remedy, and a node that can't be believed gets no further requests.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeFunctionData, parseAbi, parseEther, toHex } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { installation } from '../../../src/db/tables/index.ts';
import type { Check } from '../../../src/ledger/network/check.ts';
import { checkLedger } from '../../../src/diagnostics/checkLedger.ts';
import { startAnvil, type Anvil } from '../../../devnet/evm/anvil.ts';
import { deployContracts, type DeployedContracts } from '../../../devnet/evm/deploy.ts';
import { landTransaction } from '../../../devnet/evm/landTransaction.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { silentLog } from '../../../devnet/platform.ts';

let anvil: Anvil;
let contracts: DeployedContracts;
let database: TestDatabase;
let DATA_DIR: string;

beforeAll(async () => {
  anvil = await startAnvil();
  const [custody] = anvil.accounts;
  contracts = await deployContracts(anvil, { deployer: custody, custodyAddress: custody.address });
  database = await createTestDatabase();
  DATA_DIR = await mkdtemp(join(tmpdir(), 'ledger-check-evm-'));
});
afterAll(async () => {
  await database.drop();
  await anvil.stop();
  await rm(DATA_DIR, { recursive: true, force: true });
});

async function look(more: Record<string, string> = {}): Promise<Check[]> {
  const config = await loadConfig({
    DATA_DIR,
    DATABASE_URL: database.url,
    LEDGER_NETWORK: 'evm',
    LEDGER_RPC_URL: anvil.url,
    LEDGER_CHAIN_ID: String(anvil.chainId),
    LEDGER_SECRET_KEY: anvil.accounts[0].secretKey,
    LEDGER_FACTORY_ADDRESS: contracts.factoryAddress,
    LEDGER_SETTLEMENT_FACTORY_ADDRESS: contracts.settlementFactoryAddress,
    RAMP_SETTLEMENT_ADDRESS: contracts.settlementAddress,
    LEDGER_FINALITY: '0',
    ...more,
  });
  const found: Check[] = [];
  for await (const check of checkLedger(config, silentLog)) found.push(check);
  return found;
}

const about = (checks: readonly Check[], name: string) => checks.find((check) => check.name === name);
const namesOf = (checks: readonly Check[], result: Check['result']) =>
  checks.filter((check) => check.result === result).map(({ name }) => name);

describe('ledger:check on an EVM chain', () => {
  it('finds all right but that there is no indexer, and leaves the database as it is', async () => {
    const checks = await look();
    expect(namesOf(checks, 'fail')).toEqual([]);
    expect(namesOf(checks, 'warn')).toEqual(['indexer']);
    expect(namesOf(checks, 'pass')).toEqual(
      expect.arrayContaining([
        'node',
        'latest ledger',
        'funds',
        'token factory',
        'settlement',
        'settlement roles',
      ]),
    );
    expect(await database.handle.db.select().from(installation)).toEqual([]);
  });

  it('says what to do about a stranger’s key and a wrong factory', async () => {
    const checks = await look({
      LEDGER_SECRET_KEY: `0x${randomBytes(32).toString('hex')}`,
      LEDGER_FACTORY_ADDRESS: contracts.settlementAddress,
    });
    expect(namesOf(checks, 'fail')).toEqual(
      expect.arrayContaining(['funds', 'token factory', 'settlement roles']),
    );
    expect(about(checks, 'token factory')?.remedy).toContain('LEDGER_FACTORY_ADDRESS');
    expect(about(checks, 'settlement roles')?.remedy).toContain('RAMP_SETTLEMENT_ADDRESS');
  });

  it('says how to get a settlement contract, with a factory and without', async () => {
    const remedyWith = async (factory: string) => {
      const settings = { RAMP_SETTLEMENT_ADDRESS: '', LEDGER_SETTLEMENT_FACTORY_ADDRESS: factory };
      return about(await look(settings), 'settlement')?.remedy;
    };
    expect(await remedyWith('')).toMatch(
      /^Set LEDGER_SETTLEMENT_FACTORY_ADDRESS\. Set RAMP_SETTLEMENT_ADDRESS/,
    );
    expect(await remedyWith(contracts.settlementFactoryAddress)).toMatch(/^Set RAMP_SETTLEMENT_ADDRESS/);
  });

  it('refuses a first block that a factory is older than, or that is not there yet', async () => {
    expect(about(await look({ LEDGER_FIRST_BLOCK: '1' }), 'first block')).toMatchObject({
      result: 'pass',
      found: expect.stringContaining('block 1'),
    });
    await anvil.mine();
    const latest = Number(await anvil.rpc('eth_blockNumber'));
    expect(about(await look({ LEDGER_FIRST_BLOCK: String(latest) }), 'node')).toMatchObject({
      result: 'fail',
      found: expect.stringContaining(`${contracts.factoryAddress} is older than block ${latest}`),
    });
    expect(about(await look({ LEDGER_FIRST_BLOCK: '99999' }), 'node')).toMatchObject({
      result: 'fail',
      found: expect.stringContaining(`is at block ${latest}, before block 99999`),
    });
  });

  it('shows the factory’s fee and its cap, and what is held for review above it', async () => {
    expect(about(await look(), 'deployment fee')).toEqual({
      result: 'pass',
      name: 'deployment fee',
      found: '0 now, under a cap of 0.1',
    });
    const [deployer] = anvil.accounts;
    const setFee = async (coins: string) => {
      const args = [parseEther(coins)] as const;
      const data = encodeFunctionData({ abi: parseAbi(['function setDeploymentFee(uint256)']), args });
      const to = contracts.factoryAddress;
      await landTransaction(anvil, { from: deployer.address, to, data });
    };
    await setFee('9000');
    try {
      const checks = await look();
      expect(about(checks, 'deployment fee')).toMatchObject({
        result: 'fail',
        found: expect.stringContaining('9000 now, above the cap of 0.1'),
        remedy: expect.stringContaining('LEDGER_MAX_DEPLOYMENT_FEE_COINS'),
      });
      expect(about(checks, 'token factory')?.result).toBe('pass');
      expect(about(await look({ LEDGER_MAX_DEPLOYMENT_FEE_COINS: '9000' }), 'deployment fee')?.result).toBe(
        'pass',
      );

      await anvil.rpc('anvil_setBalance', [deployer.address, toHex(parseEther('5'))]);
      const short = await look();
      const told = short.filter(({ name, result }) => name === 'funds' && result === 'fail');
      expect(told).toEqual([
        expect.objectContaining({ found: expect.stringContaining('has 5 of the chain') }),
      ]);
      expect(namesOf(short, 'fail')).not.toContain('token factory');
      expect(short.map(({ found }) => found).join()).not.toContain('did not answer');
    } finally {
      await anvil.rpc('anvil_setBalance', [deployer.address, toHex(parseEther('10000'))]);
      await setFee('0');
    }
  });

  it('asks a node of another chain no further, and goes on with the database', async () => {
    const checks = await look({ LEDGER_CHAIN_ID: '5' });
    expect(about(checks, 'node')?.found).toContain('LEDGER_CHAIN_ID is 5');
    expect(about(checks, 'latest ledger')).toBeUndefined();
    expect(about(checks, 'belongs to')?.result).toBe('pass');
  });

  it('says so when the node does not answer', async () => {
    await anvil.pause();
    try {
      const node = about(await look({ LEDGER_TIMEOUT_MS: '500' }), 'node');
      expect(node).toMatchObject({
        result: 'fail',
        found: expect.stringContaining(new URL(anvil.url).host),
      });
    } finally {
      await anvil.resume();
    }
  });
});
