/**
 * The node of the EVM tests: after a stop it continues where it was, and it ends with the process that
 * started it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { createActors, mintedCarbon, TONNE } from '../../../support/evm/actors.ts';
import { isPortTaken, startAnvil } from '../../../../devnet/evm/anvil.ts';
import type { Anvil, AnvilOptions } from '../../../../devnet/evm/anvil.ts';
import { deployContracts } from '../../../../devnet/evm/deploy.ts';
import { sendRpc } from '../../../../devnet/evm/rpc.ts';
import { pathOf } from '../../../support/run/programs.ts';

const HOLDER = pathOf('test/support/evm/anvilHolder.ts');
const HALF_A_YEAR_SECONDS = 181 * 24 * 3600;

const nodes: Anvil[] = [];
const folders: string[] = [];

afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.stop()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));
});

async function start(options: AnvilOptions = {}): Promise<Anvil> {
  const node = await startAnvil(options);
  nodes.push(node);
  return node;
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'marketplace-anvil-'));
  folders.push(folder);
  return folder;
}

async function heightOf(node: Anvil, block = 'latest'): Promise<number> {
  const { number } = (await node.rpc('eth_getBlockByNumber', [block, false])) as { number: string };
  return Number(number);
}

describe('anvil', () => {
  it.each([['each-transaction' as const], ['on-demand' as const], [{ everySeconds: 1 }]])(
    'takes the contracts when it closes blocks %j',
    async (mining) => {
      const node = await start({ mining, chainId: 1234 });
      const [deployer] = node.accounts;
      const contracts = await deployContracts(node, { deployer, custodyAddress: deployer.address });
      for (const address of Object.values(contracts)) {
        expect(String(await node.rpc('eth_getCode', [address, 'latest']))).toMatch(/^0x[0-9a-f]{100,}$/);
      }
    },
  );

  it('closes blocks on demand only when it is set to, and finalizes those that lie two behind', async () => {
    const node = await start({ mining: 'on-demand' });
    const [{ address }] = node.accounts;
    const before = await heightOf(node);
    const transaction = { from: address, to: address, value: '0x1' };
    const hash = await node.rpc('eth_sendTransaction', [transaction]);
    expect(await node.rpc('eth_getTransactionReceipt', [hash])).toBeNull();
    await node.mine(5);
    expect(await node.rpc('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' });
    expect(await heightOf(node)).toBe(before + 5);
    expect(await heightOf(node, 'finalized')).toBe(before + 3);
  });

  it('goes on after a stop: the same blocks, balances of before, its own time', async () => {
    const stateFile = join(await temporaryFolder(), 'state.json');
    const node = await start({ stateFile });
    const actors = await createActors(node);
    const token = await mintedCarbon(actors, 5n);
    const minted = await actors.client.getBlock();
    await node.advanceTime(HALF_A_YEAR_SECONDS);
    const moved = await actors.client.getBlock();
    expect(Number(moved.timestamp - minted.timestamp)).toBeGreaterThanOrEqual(HALF_A_YEAR_SECONDS);
    await node.stop();
    await node.start();
    expect((await actors.client.getBlock()).hash).toBe(moved.hash);
    const supply = { ...token, functionName: 'totalSupply' } as const;
    const { number: blockNumber } = minted;
    expect(await actors.client.readContract({ ...supply, blockNumber })).toBe(5n * TONNE);
    const args = [TONNE, 'Ada', ''];
    const { blockNumber: next } = await actors.send(actors.custody, {
      ...token,
      functionName: 'retire',
      args,
    });
    const later = await actors.client.getBlock({ blockNumber: next });
    expect(later.timestamp).toBeGreaterThanOrEqual(moved.timestamp);
  });

  it('answers nothing while it is paused, and is the same afterwards', async () => {
    const node = await start();
    await node.mine(3);
    await node.pause();
    await expect(sendRpc(node.url, 'eth_blockNumber', [], 500)).rejects.toThrow(/time/i);
    await node.resume();
    expect(await heightOf(node)).toBe(3);
  });

  it('says that its port is taken', async () => {
    const { port } = await start();
    const refused = await startAnvil({ port }).catch((error: unknown) => error);
    expect(isPortTaken(refused)).toBe(true);
  });

  it('ends when the process that started it is killed', async () => {
    const stateFile = join(await temporaryFolder(), 'state.json');
    const holder = spawn(process.execPath, [HOLDER, stateFile], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [url] = (await once(createInterface({ input: holder.stdout }), 'line')) as [string];
    expect(await sendRpc(url, 'eth_chainId')).toBe('0x7a69');
    holder.kill('SIGKILL');
    await expect.poll(() => sendRpc(url, 'eth_chainId').catch(() => 'gone')).toBe('gone');
  });
});
