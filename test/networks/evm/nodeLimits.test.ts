/**
 * Nodes that limit requests, and chains that this platform can't write to: what the adapter does, and what it
 * reports.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { createEvmNetwork } from '../../../src/ledger/network/evm/network.ts';
import { createJsonRpc } from '../../../src/ledger/network/evm/jsonRpc.ts';
import { ask } from '../../../src/ledger/network/evm/node.ts';
import { checkNetwork } from '../../../src/diagnostics/checkNetwork.ts';
import type { Check } from '../../../src/ledger/network/check.ts';
import { evm } from '../../../src/ledger/network/evm/family.ts';
import { seenLedgersInMemory } from '../../../src/ledger/network/seenLedgers.ts';
import { deployCarbon } from '../../../devnet/calls.ts';
import { startAnvil, type Anvil } from '../../../devnet/evm/anvil.ts';
import { startFaultyNode, type FaultyNode } from '../../../devnet/evm/faultyNode.ts';
import { silentLog } from '../../../devnet/platform.ts';

describe('Retry-After', () => {
  let anvil: Anvil;
  let node: FaultyNode;
  beforeAll(async () => {
    anvil = await startAnvil();
    node = await startFaultyNode(anvil.url);
  });
  afterAll(async () => {
    await node.close();
    await anvil.stop();
  });

  const START_MS = Date.parse('2026-03-01T12:00:00Z');
  const busy = (status: number, retryAfter?: string) => ({
    status,
    body: 'slow down',
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
  });

  it.each([
    ['429 with seconds', busy(429, '7'), 7_000],
    ['503 with a date', busy(503, 'Sun, 01 Mar 2026 12:00:09 GMT'), 9_000],
    ['429 for a day, of which a minute is granted', busy(429, '86400'), 60_000],
    ['429 without a time', busy(429), 0],
    ['429 with a time that is over', busy(429, 'Sun, 01 Mar 2026 11:00:00 GMT'), 0],
    ['429 with nonsense', busy(429, 'soon'), 0],
    ['500, which asks for nothing', busy(500, '7'), 0],
  ])('%s', async (_, answer, waitMs) => {
    let nowMs = START_MS;
    const rpc = createJsonRpc({ url: node.url, timeoutMs: 5_000, nowMs: () => nowMs });
    const asked = () => node.questions.length;
    node.answerAll(answer);
    await expect(rpc.ask(ask.chainId())).rejects.toThrow(`status ${answer.status}`);
    node.answerAll(null);
    const before = asked();
    if (waitMs > 0) {
      nowMs = START_MS + waitMs - 1;
      await expect(rpc.ask(ask.chainId())).rejects.toThrow(/asked to be left alone for 1 s more/);
      await expect(rpc.askTogether([ask.chainId(), ask.block('latest')])).rejects.toThrow(/left alone/);
      expect(asked()).toBe(before);
    }
    nowMs = START_MS + waitMs;
    expect(await rpc.ask(ask.chainId())).toBe(BigInt(anvil.chainId));
    expect(asked()).toBe(before + 1);
  });

  it('is forgotten when the machine’s clock is set back', async () => {
    let nowMs = START_MS;
    const rpc = createJsonRpc({ url: node.url, timeoutMs: 5_000, nowMs: () => nowMs });
    node.answerAll(busy(429, '30'));
    await expect(rpc.ask(ask.chainId())).rejects.toThrow('status 429');
    node.answerAll(null);
    nowMs -= 3_600_000;
    expect(await rpc.ask(ask.chainId())).toBe(BigInt(anvil.chainId));
  });
});

describe('a chain without base fees', () => {
  let legacy: Anvil;
  let DATA_DIR: string;
  beforeAll(async () => {
    legacy = await startAnvil({ flags: ['--hardfork', 'berlin'] });
    DATA_DIR = await mkdtemp(join(tmpdir(), 'legacy-chain-'));
  });
  afterAll(async () => {
    await legacy.stop();
    await rm(DATA_DIR, { recursive: true, force: true });
  });

  const config = () =>
    loadConfig({
      DATA_DIR,
      LEDGER_NETWORK: 'evm',
      LEDGER_RPC_URL: legacy.url,
      LEDGER_CHAIN_ID: String(legacy.chainId),
      LEDGER_SECRET_KEY: legacy.accounts[0].secretKey,
      LEDGER_FACTORY_ADDRESS: legacy.accounts[1]?.address ?? '',
      LEDGER_FINALITY: '0',
    });

  it('is named as what it is by ledger:check, without advice about fees', async () => {
    const settings = await config();
    if (settings.ledger.family !== 'evm') throw new Error('not EVM');
    const found: Check[] = [];
    const seenLedgers = async () => seenLedgersInMemory();
    const created = await evm.create(settings.ledger, { handle: null, seenLedgers, log: silentLog });
    for await (const check of checkNetwork(settings, created)) found.push(check);
    const told = found.filter(({ found: text }) => /base ?fee/i.test(text));
    expect(told.map(({ name }) => name)).toContain('transactions');
    for (const { result, found: text, remedy = '' } of told) {
      expect(result).toBe('fail');
      expect(text).toContain('legacy transactions only');
      expect(text + remedy).toContain('EIP-1559');
      expect(text + remedy).not.toMatch(/cap|LEDGER_MAX_FEE|maxFeePerGas|LEDGER_FACTORY_ADDRESS/);
    }
  });

  it('refuses to write with the same words', async () => {
    const { ledger } = await config();
    if (ledger.family !== 'evm') throw new Error('not EVM');
    const network = await createEvmNetwork(ledger);
    await expect(network.draft(deployCarbon())).rejects.toThrow(/legacy transactions only.*EIP-1559/);
  });
});
