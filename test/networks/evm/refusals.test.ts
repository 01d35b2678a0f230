/**
 * The reasons for a contract's refusal, in the many forms in which nodes pass them on and contracts express
 * them; and errors that look like refusals and are none.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeErrorResult, keccak256, parseAbi, stringToBytes } from 'viem';
import type { Hex } from 'viem';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { EvmNetwork } from '../../../src/ledger/network/evm/network.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import type { NetworkCall, RefusalReason } from '../../../src/ledger/network/port.ts';
import { TONNE, deployCarbon, mintedCarbon, refusalOf, retire } from '../../../devnet/calls.ts';
import { startEvmTestbed } from '../../support/evm/testbed.ts';
import type { EvmTestbed } from '../../support/evm/testbed.ts';

let testbed: EvmTestbed;
let network: EvmNetwork;
let token: string;

beforeAll(async () => {
  testbed = await startEvmTestbed();
  network = await testbed.open();
  token = await mintedCarbon(network, 10n);
});
afterAll(() => testbed.close());
afterEach(() => testbed.faulty.obey());

interface RpcProblem {
  code: number;
  message: string;
  data?: unknown;
}

/** Makes every execution of a `mint` end with this error. */
function executionsEnd(error: RpcProblem): void {
  testbed.faulty.obey(({ method, params }) => {
    const { data } = (params[0] ?? {}) as { data?: string };
    const isExecution = method === 'eth_call' || method === 'eth_estimateGas';
    return isExecution && data?.startsWith('0x40c10f19') ? { error } : undefined;
  });
}

const mint = (): NetworkCall => ({
  kind: 'mint',
  tokenAddress: token,
  to: network.custodyAddress,
  amount: 1n,
});

const saying = (text: string): Hex =>
  encodeErrorResult({ abi: parseAbi(['error Error(string message)']), args: [text] });

const selectorOf = (signature: string): Hex => keccak256(stringToBytes(signature)).slice(0, 10) as Hex;

const word = (value: bigint): string => value.toString(16).padStart(64, '0');

describe('reasons', () => {
  const account = word(0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266n);
  const role = keccak256(stringToBytes('MINTER_ROLE')).slice(2);
  const cases: readonly [string, Hex, RefusalReason, string][] = [
    ['ZeroRetirementAmount', selectorOf('ZeroRetirementAmount()'), 'ZERO_AMOUNT', 'ZeroRetirementAmount'],
    ['ZeroAmount', selectorOf('ZeroAmount()'), 'ZERO_AMOUNT', 'ZeroAmount'],
    [
      'InsufficientBalance',
      `${selectorOf('InsufficientBalance(uint256,uint256)')}${word(3n)}${word(4n)}`,
      'INSUFFICIENT_BALANCE',
      'available 3, requested 4',
    ],
    [
      'ERC20InsufficientBalance',
      `${selectorOf('ERC20InsufficientBalance(address,uint256,uint256)')}${account}${word(3n)}${word(4n)}`,
      'INSUFFICIENT_BALANCE',
      'balance 3, needed 4',
    ],
    [
      'ERC20InsufficientAllowance',
      `${selectorOf('ERC20InsufficientAllowance(address,uint256,uint256)')}${account}${word(3n)}${word(4n)}`,
      'INSUFFICIENT_ALLOWANCE',
      'allowance 3, needed 4',
    ],
    [
      'ReferenceAlreadyUsed',
      `${selectorOf('ReferenceAlreadyUsed(bytes32)')}${role}`,
      'REFERENCE_ALREADY_USED',
      role,
    ],
    ['InvalidStatus', selectorOf('InvalidStatus()'), 'WRONG_STATUS', 'InvalidStatus'],
    ['EnforcedPause', selectorOf('EnforcedPause()'), 'PAUSED', 'EnforcedPause'],
    [
      'AccessControlUnauthorizedAccount',
      `${selectorOf('AccessControlUnauthorizedAccount(address,bytes32)')}${account}${role}`,
      'UNAUTHORIZED',
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    ],
    [
      'OwnableUnauthorizedAccount',
      `${selectorOf('OwnableUnauthorizedAccount(address)')}${account}`,
      'UNAUTHORIZED',
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    ],
    [
      'NotVerified',
      `0xb12c8f91${account}`,
      'NOT_VERIFIED',
      'NotVerified(account 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266)',
    ],
    ['InsufficientFee', selectorOf('InsufficientFee()'), 'OTHER', 'InsufficientFee()'],
    [
      'InsufficientFee with its amounts',
      `${selectorOf('InsufficientFee(uint256,uint256)')}${word(5n)}${word(4n)}`,
      'OTHER',
      'InsufficientFee(required 5, sent 4)',
    ],
    [
      'TemplateNotRegistered',
      selectorOf('TemplateNotRegistered()'),
      'OTHER',
      'the call: TemplateNotRegistered()',
    ],
    ['ZeroAddress', selectorOf('ZeroAddress()'), 'OTHER', 'the call: ZeroAddress()'],
    [
      'ImplementationNotSet',
      selectorOf('ImplementationNotSet()'),
      'OTHER',
      'the call: ImplementationNotSet()',
    ],
    ['an older pause', saying('Pausable: paused'), 'PAUSED', 'Pausable: paused'],
    [
      'an older role',
      saying(`AccessControl: account 0xf3 is missing role 0x${role}`),
      'UNAUTHORIZED',
      'missing role',
    ],
    ['an older balance', saying('ERC20: burn amount exceeds balance'), 'INSUFFICIENT_BALANCE', 'burn amount'],
    ['an older allowance', saying('ERC20: insufficient allowance'), 'INSUFFICIENT_ALLOWANCE', 'allowance'],
    ['words of its own', saying('not on a Sunday'), 'OTHER', 'not on a Sunday'],
    ['a panic', `${selectorOf('Panic(uint256)')}${word(0x11n)}`, 'OTHER', 'Panic'],
    ['an unknown error', `${selectorOf('NotOnSundays()')}${word(7n)}`, 'OTHER', selectorOf('NotOnSundays()')],
    [
      'a known error cut short',
      `${selectorOf('InsufficientBalance(uint256,uint256)')}00`,
      'OTHER',
      'unknown here',
    ],
    ['nothing', '0x', 'OTHER', 'no reason'],
  ];

  it.each(cases)('reads %s', async (_, data, reason, part) => {
    executionsEnd({ code: 3, message: 'execution reverted', data });
    const refusal = await refusalOf(network.draft(mint()));
    expect(refusal.reason).toBe(reason);
    expect(refusal.message).toContain(part);
  });
});

describe('the operator’s own names of errors', () => {
  it('are used for what is unknown here, with its arguments', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'error-abi-'));
    try {
      const errorAbiFile = join(folder, 'Token.json');
      const abi = [
        { type: 'function', name: 'mint', inputs: [], outputs: [], stateMutability: 'nonpayable' },
        { type: 'error', name: 'NotOnSundays', inputs: [{ name: 'weekday', type: 'uint256' }] },
      ];
      await writeFile(errorAbiFile, JSON.stringify({ abi }));
      const data = `${selectorOf('NotOnSundays(uint256)')}${word(7n)}` as Hex;
      executionsEnd({ code: 3, message: 'execution reverted', data });
      const unnamed = await refusalOf(network.draft(mint()));
      expect(unnamed.message).toContain(`unknown here, ${data.slice(0, 10)} (`);
      expect(unnamed.message).toContain('LEDGER_ERROR_ABI_FILE');
      const named = await testbed.open({ errorAbiFile });
      expect((await refusalOf(named.draft(mint()))).message).toContain('NotOnSundays(weekday 7)');
      testbed.faulty.obey();
      await expect(testbed.open({ errorAbiFile: join(folder, 'none.json') })).rejects.toThrow(/ENOENT/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('nodes’ ways of passing it on', () => {
  const data = selectorOf('EnforcedPause()');
  const ways: readonly [string, RpcProblem][] = [
    ['with the data beside', { code: 3, message: 'execution reverted', data }],
    [
      'with words before the data',
      { code: -32015, message: 'VM execution error.', data: `Reverted ${data}` },
    ],
    ['an object further in', { code: -32603, message: 'reverted', data: { message: 'reverted', data } }],
    ['two objects further in', { code: -32603, message: 'reverted', data: { data: { data } } }],
  ];

  it.each(ways)('%s', async (_, problem) => {
    executionsEnd(problem);
    expect((await refusalOf(network.draft(mint()))).reason).toBe('PAUSED');
  });

  it('without the data, it is a refusal without a reason', async () => {
    for (const message of ['execution reverted', 'invalid opcode: INVALID', 'VM Exception: revert']) {
      executionsEnd({ code: -32000, message });
      expect((await refusalOf(network.draft(mint()))).reason).toBe('OTHER');
    }
  });
});

describe('what is no refusal', () => {
  it.each([
    'header not found',
    'missing trie node 1234 (path ) state 0x12 is not available',
    'execution aborted (timeout = 5s)',
    'out of gas',
    'rate limit exceeded',
    'insufficient funds for gas * price + value',
  ])('%s', async (message) => {
    executionsEnd({ code: -32000, message });
    await expect(network.draft(mint())).rejects.toThrow(NetworkUnavailable);
  });

  it('an estimate that fails alone', async () => {
    testbed.faulty.obey(({ method }) =>
      method === 'eth_estimateGas'
        ? { error: { code: 3, message: 'execution reverted', data: '0x' } }
        : undefined,
    );
    await expect(network.draft(mint())).rejects.toThrow(NetworkUnavailable);
  });
});

describe('arguments that no contract could take', () => {
  it.each<[string, (address: string) => NetworkCall, RefusalReason]>([
    ['less than nothing', (at) => retire(at, -1n), 'OTHER'],
    ['more than 256 bits', (at) => retire(at, 2n ** 256n), 'OTHER'],
    ['half a character', (at) => retire(at, TONNE, 'half \ud83c'), 'OTHER'],
    [
      'no address to mint to',
      (at) => ({ kind: 'mint', tokenAddress: at, to: 'farmer', amount: 1n }),
      'OTHER',
    ],
    ['no token', () => ({ kind: 'markExpired', tokenAddress: 'receipt' }), 'CONTRACT_NOT_FOUND'],
    [
      'no hash',
      () => {
        const call = deployCarbon();
        return { ...call, metadata: { ...call.metadata, verificationDocHash: '0x12' } };
      },
      'OTHER',
    ],
    [
      'half a year',
      () => {
        const call = deployCarbon();
        return { ...call, metadata: { ...call.metadata, vintageYear: 2024.5 } };
      },
      'OTHER',
    ],
  ])('%s', async (_, call, reason) => {
    testbed.faulty.questions.length = 0;
    expect((await refusalOf(network.draft(call(token)))).reason).toBe(reason);
    expect(testbed.faulty.questions).toEqual([]);
  });
});

describe('secrets', () => {
  it('are in no error', async () => {
    await expect(testbed.open({ secretKey: `0x${'0'.repeat(64)}` })).rejects.toThrow(/private key/);
    const key = `0x${'f'.repeat(64)}`;
    const refused = await testbed.open({ secretKey: key }).catch((error: unknown) => String(error));
    expect(refused).not.toContain('ffff');
    for (const rpcUrl of ['http://user:hunter2@localhost:1', 'hunter2', 'ftp://hunter2']) {
      const told = await testbed.open({ rpcUrl }).catch((error: unknown) => String(error));
      expect(told).toContain('rpcUrl');
      expect(told).not.toContain('hunter2');
    }
    const away = await testbed.open({ rpcUrl: 'http://127.0.0.1:9/v3/hunter2' });
    const unanswered = await away.status().catch((error: unknown) => String(error));
    expect(unanswered).toContain('could not be asked');
    expect(unanswered).not.toContain('hunter2');
  });
});
