/**
 * The settings of the ledger network: what each family reads, and every contradiction between settings.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Networks } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { encodeStrkey, generateSecretKey } from '../../../src/lib/strkey.ts';
import { STELLAR_NETWORKS } from '../../../src/ledger/network/stellar/settings.ts';
import { staysPrivate } from '../../../src/lib/hosts.ts';

let DATA_DIR: string;

beforeAll(async () => {
  DATA_DIR = await mkdtemp(join(tmpdir(), 'ledger-settings-'));
});
afterAll(() => rm(DATA_DIR, { recursive: true, force: true }));

const seed = generateSecretKey(randomBytes);
const [channelA, channelB] = [generateSecretKey(randomBytes), generateSecretKey(randomBytes)];
const contract = encodeStrkey('contract', randomBytes(32));
const evmKey = `0x${randomBytes(32).toString('hex')}`;
const evmAddress = `0x${randomBytes(20).toString('hex')}`;
/** The first account of every development chain. */
const anvilKey = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';

type Environment = Record<string, string>;

const stellar = (more: Environment = {}): Environment => ({
  DATA_DIR,
  LEDGER_NETWORK: 'ledger-testnet',
  LEDGER_SECRET_KEY: seed,
  LEDGER_FACTORY_ADDRESS: contract,
  ...more,
});

const evm = (more: Environment = {}): Environment => ({
  DATA_DIR,
  LEDGER_NETWORK: 'evm',
  LEDGER_RPC_URL: 'http://127.0.0.1:8545',
  LEDGER_CHAIN_ID: '31337',
  LEDGER_SECRET_KEY: evmKey,
  LEDGER_FACTORY_ADDRESS: evmAddress,
  ...more,
});

const inProduction = (environment: Environment): Environment => ({
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://user:V7kq2Lm9Xz4c@db.example/app?sslmode=require',
  PUBLIC_URL: 'https://api.example',
  APP_SECRET: randomBytes(32).toString('base64'),
  AUTH_SECRETS: randomBytes(32).toString('base64'),
  RAMP_EXCHANGE_RATES: 'KES=129.5',
  APPROVALS: 'required',
  TRUSTED_PROXY_HOPS: '0',
  ...environment,
});

const without = ({ ...environment }: Environment, name: string): Environment => {
  delete environment[name];
  return environment;
};

async function complaint(environment: Environment): Promise<string> {
  return loadConfig(environment).then(
    () => '',
    (error: Error) => error.message,
  );
}

describe('the configured network', () => {
  it('is the Stellar testnet by the name in the specification, with nothing but a key and a factory', async () => {
    const { ledger } = await loadConfig(stellar());
    expect(ledger).toEqual({
      family: 'stellar',
      name: 'ledger-testnet',
      rpcUrl: 'https://soroban-testnet.stellar.org',
      passphrase: Networks.TESTNET,
      secretKey: seed,
      channelSecretKeys: [],
      factoryAddress: contract,
      settlementFactoryAddress: undefined,
      settlementAddress: undefined,
      maxInclusionFeeStroops: 1_000_000,
      requestTimeoutMs: 10_000,
    });
  });

  it('is any Stellar network by its url and passphrase, with channels', async () => {
    const { ledger } = await loadConfig(
      stellar({
        LEDGER_NETWORK: 'stellar',
        LEDGER_RPC_URL: 'http://localhost:8000/rpc',
        LEDGER_PASSPHRASE: 'Standalone Network ; February 2017',
        LEDGER_CHANNEL_SECRET_KEYS: `${channelA}, ${channelB}`,
      }),
    );
    expect(ledger).toMatchObject({
      passphrase: 'Standalone Network ; February 2017',
      channelSecretKeys: [channelA, channelB],
    });
  });

  it('is any EVM chain by its url and id', async () => {
    const { ledger } = await loadConfig(evm({ LEDGER_MAX_FEE_GWEI: '0.05', LEDGER_FINALITY: '12' }));
    expect(ledger).toEqual({
      family: 'evm',
      name: 'evm',
      rpcUrl: 'http://127.0.0.1:8545',
      chainId: 31_337,
      firstBlock: 0n,
      secretKey: evmKey,
      factoryAddress: evmAddress,
      settlementFactoryAddress: undefined,
      settlementAddress: undefined,
      finality: { confirmations: 12 },
      maxFeePerGasCap: 50_000_000n,
      maxDeploymentFee: 10n ** 17n,
      errorAbiFile: undefined,
      maxOpenPerAccount: 16,
      requestTimeoutMs: 10_000,
    });
    expect((await loadConfig(evm())).ledger).toMatchObject({ finality: 'finalized' });
    const dearer = await loadConfig(evm({ LEDGER_MAX_DEPLOYMENT_FEE_COINS: '12.5' }));
    expect(dearer.ledger).toMatchObject({ maxDeploymentFee: 125n * 10n ** 17n });
  });

  it.each<[string, string, RegExp]>([
    ['is not there', '', /LEDGER_ERROR_ABI_FILE: .* can't be read \(ENOENT\)/],
    ['is no JSON', 'error NotOnSundays()', /is no ABI: expected a JSON array/],
    ['names no errors', '[{"type":"function","name":"mint"}]', /names no errors/],
    [
      'has an error of an unknown type',
      '[{"type":"error","name":"Late","inputs":[{"type":"day"}]}]',
      /has an error that is none of an ABI/,
    ],
  ])('refuses a file of errors that %s', async (_, text, problem) => {
    const file = join(DATA_DIR, 'errors.json');
    if (text !== '') await writeFile(file, text);
    await expect(loadConfig(evm({ LEDGER_ERROR_ABI_FILE: file }))).rejects.toThrow(problem);
    await rm(file, { force: true });
  });

  it('has the passphrases that its library knows', () => {
    expect(STELLAR_NETWORKS['ledger-testnet'].passphrase).toBe(Networks.TESTNET);
    expect(STELLAR_NETWORKS['stellar-mainnet'].passphrase).toBe(Networks.PUBLIC);
  });
});

describe('contradictions', () => {
  const lastDigitChanged = (key: string) => key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A');
  const stellarNetwork = { LEDGER_NETWORK: 'stellar', LEDGER_RPC_URL: 'http://localhost:8000' };

  it.each<[string, Environment, string[]]>([
    [
      'a key and a factory missing',
      { DATA_DIR, LEDGER_NETWORK: 'ledger-testnet' },
      ['LEDGER_SECRET_KEY', 'LEDGER_FACTORY_ADDRESS'],
    ],
    [
      'no url and passphrase of a network of one’s own',
      stellar({ LEDGER_NETWORK: 'stellar' }),
      ['LEDGER_RPC_URL', 'LEDGER_PASSPHRASE'],
    ],
    [
      'no url of the mainnet',
      inProduction(stellar({ LEDGER_NETWORK: 'stellar-mainnet' })),
      ['LEDGER_RPC_URL must be set'],
    ],
    ['no url of a chain', without(evm(), 'LEDGER_RPC_URL'), ['LEDGER_RPC_URL must be set']],
    ['no chain id', without(evm(), 'LEDGER_CHAIN_ID'), ['LEDGER_CHAIN_ID must be set']],
    [
      'another passphrase',
      stellar({ LEDGER_PASSPHRASE: Networks.PUBLIC }),
      ['LEDGER_PASSPHRASE', 'LEDGER_NETWORK=stellar'],
    ],
    [
      'another name of the testnet',
      stellar({
        ...stellarNetwork,
        LEDGER_PASSPHRASE: Networks.TESTNET,
        LEDGER_RPC_URL: 'https://rpc.example',
      }),
      ['LEDGER_PASSPHRASE', 'LEDGER_NETWORK=ledger-testnet'],
    ],
    [
      'a second word for the testnet',
      stellar({ LEDGER_NETWORK: 'stellar-testnet' }),
      ['LEDGER_NETWORK must be one of'],
    ],
    ['an EVM key on Stellar', stellar({ LEDGER_SECRET_KEY: evmKey }), ['LEDGER_SECRET_KEY is no Stellar']],
    ['a Stellar key on EVM', evm({ LEDGER_SECRET_KEY: seed }), ['LEDGER_SECRET_KEY is no EVM']],
    [
      'an EVM key on the embedded network',
      { DATA_DIR, LEDGER_SECRET_KEY: evmKey },
      ['LEDGER_SECRET_KEY is no Stellar'],
    ],
    ['a mistyped key', stellar({ LEDGER_SECRET_KEY: lastDigitChanged(seed) }), ['checksum']],
    [
      'a key that is no number of the curve',
      evm({ LEDGER_SECRET_KEY: `0x${'0'.repeat(64)}` }),
      ['LEDGER_SECRET_KEY is no EVM'],
    ],
    [
      'an EVM address on Stellar',
      stellar({ LEDGER_FACTORY_ADDRESS: evmAddress }),
      ['LEDGER_FACTORY_ADDRESS'],
    ],
    [
      'an account as a contract',
      stellar({ RAMP_SETTLEMENT_ADDRESS: encodeStrkey('account', randomBytes(32)) }),
      ['RAMP_SETTLEMENT_ADDRESS'],
    ],
    [
      'a wrong checksum on EVM',
      evm({ LEDGER_FACTORY_ADDRESS: '0x5FbDB2315678afecb367f032d93F642f64180aA4' }),
      ['LEDGER_FACTORY_ADDRESS', 'checksum'],
    ],
    [
      'the zero address on EVM',
      evm({ LEDGER_SETTLEMENT_FACTORY_ADDRESS: `0x${'0'.repeat(40)}` }),
      ['LEDGER_SETTLEMENT_FACTORY_ADDRESS', 'no EVM address'],
    ],
    [
      'channels on EVM',
      evm({ LEDGER_CHANNEL_SECRET_KEYS: channelA }),
      ['LEDGER_CHANNEL_SECRET_KEYS', 'Stellar'],
    ],
    [
      'a channel twice',
      stellar({ LEDGER_CHANNEL_SECRET_KEYS: `${channelA},${channelB},${channelA}` }),
      ['there already (key 3 of 3)'],
    ],
    [
      'custody as a channel',
      stellar({ LEDGER_CHANNEL_SECRET_KEYS: `${channelA},${seed}` }),
      ['LEDGER_SECRET_KEY', '(key 2 of 2)'],
    ],
    [
      'a mistyped channel',
      stellar({ LEDGER_CHANNEL_SECRET_KEYS: lastDigitChanged(channelA) }),
      ['checksum is wrong (key 1 of 1)'],
    ],
    ['a chain id on Stellar', stellar({ LEDGER_CHAIN_ID: '1' }), ['LEDGER_CHAIN_ID is set', 'EVM']],
    ['finality on Stellar', stellar({ LEDGER_FINALITY: '3' }), ['LEDGER_FINALITY is set']],
    [
      'a node of the embedded network',
      { DATA_DIR, LEDGER_RPC_URL: 'http://127.0.0.1:8545' },
      ['LEDGER_RPC_URL is set', 'LEDGER_NETWORK=embedded'],
    ],
    ['finality of nothing', evm({ LEDGER_FINALITY: '-1' }), ['LEDGER_FINALITY must be finalized']],
    ['a node that is no address', evm({ LEDGER_RPC_URL: 'nonsense' }), ['LEDGER_RPC_URL must be an http']],
    [
      'a user and password in the address of a node',
      evm({ LEDGER_RPC_URL: 'https://me:hunter2@chain.example' }),
      ['LEDGER_RPC_URL must hold no user'],
    ],
    ['a free gas price', evm({ LEDGER_MAX_FEE_GWEI: '0' }), ['LEDGER_MAX_FEE_GWEI']],
    [
      'the mainnet outside of production',
      stellar({
        ...stellarNetwork,
        LEDGER_PASSPHRASE: Networks.PUBLIC,
        LEDGER_RPC_URL: 'https://rpc.example',
      }),
      ['NODE_ENV must be production'],
    ],
    [
      'Ethereum outside of production',
      evm({ LEDGER_CHAIN_ID: '1', LEDGER_RPC_URL: 'https://rpc.example' }),
      ['NODE_ENV must be production', 'LEDGER_CHAIN_ID=1'],
    ],
    [
      'the mainnet in clear text',
      inProduction(stellar({ LEDGER_NETWORK: 'stellar-mainnet', LEDGER_RPC_URL: 'http://rpc.example' })),
      ['rpc.example', 'https'],
    ],
    [
      'a node where machines keep their credentials',
      inProduction(evm({ LEDGER_RPC_URL: 'http://[fe80::1]:8545' })),
      ['LEDGER_RPC_URL leads to fe80::1, a link-local address'],
    ],
    [
      'a publicly known key in production',
      inProduction(evm({ LEDGER_SECRET_KEY: anvilKey })),
      ['LEDGER_SECRET_KEY', 'are public'],
    ],
  ])('names %s', async (_what, environment, expected) => {
    const message = await complaint(environment);
    for (const part of expected) expect(message).toContain(part);
    for (const secret of [seed, channelA, channelB, evmKey, anvilKey]) expect(message).not.toContain(secret);
  });

  it('are reported together with what breaks its own rule', async () => {
    const message = await complaint(
      evm({
        PORT: 'eighty',
        LEDGER_CHAIN_ID: 'one',
        LEDGER_CHANNEL_SECRET_KEYS: 'x',
        LEDGER_FACTORY_ADDRESS: 'y',
      }),
    );
    for (const name of ['PORT', 'LEDGER_CHAIN_ID', 'LEDGER_CHANNEL_SECRET_KEYS', 'LEDGER_FACTORY_ADDRESS']) {
      expect(message).toContain(name);
    }
    expect(message).not.toContain('LEDGER_CHAIN_ID must be set');
  });

  it('name a setting of another network once', async () => {
    const message = await complaint({ DATA_DIR, LEDGER_FACTORY_ADDRESS: evmAddress });
    expect(message.match(/LEDGER_FACTORY_ADDRESS/g)).toHaveLength(1);
  });

  it('never repeat the key that a provider’s address holds', async () => {
    const message = await complaint(evm({ LEDGER_RPC_URL: 'wss://chain.example/v3/hunter2' }));
    expect(message).toContain('LEDGER_RPC_URL must be an http');
    expect(message).not.toContain('hunter2');
  });

  it('are none where they would only be in the way', async () => {
    const copyOfEthereum = evm({ LEDGER_CHAIN_ID: '1', LEDGER_SECRET_KEY: anvilKey });
    expect(await complaint(copyOfEthereum)).toBe('');
    const nodeBeside = { LEDGER_RPC_URL: 'http://geth:8545', LEDGER_CHAIN_ID: '1' };
    expect(await complaint(inProduction(evm(nodeBeside)))).toBe('');
    expect(await complaint(inProduction(stellar()))).toBe('');
    expect(await complaint(stellar({ LEDGER_PASSPHRASE: Networks.TESTNET }))).toBe('');
  });
});

it.each([
  ['http://127.0.0.1:8545', true],
  ['http://[::1]:8545', true],
  ['http://geth:8545', true],
  ['http://10.1.2.3', true],
  ['http://172.20.0.2', true],
  ['http://node.internal', true],
  ['http://[fd00::7]', true],
  ['http://172.32.0.2', false],
  ['http://11.1.2.3', false],
  ['http://rpc.example', false],
  ['http://[2001:db8::1]', false],
  ['http://127.0.0.1.rpc.example', false],
])('%s stays private: %s', (url, expected) => {
  expect(staysPrivate(url)).toBe(expected);
});
