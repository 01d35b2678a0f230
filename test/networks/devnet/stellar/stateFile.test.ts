/**
 * A network in a file: stopped and started again, it is where it was.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Keypair, rpc, xdr } from '@stellar/stellar-sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PROTOCOLS } from '../../../../devnet/soroban/engine.ts';
import { startSorobanNode } from '../../../../devnet/soroban/startSorobanNode.ts';
import { furnish } from '../../../../devnet/stellar/contracts.ts';

let folder: string;
let stateFile: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'soroban-state-'));
  stateFile = join(folder, 'network.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const clientOf = ({ url }: { url: string }) => new rpc.Server(url, { allowHttp: true });

it.each(PROTOCOLS)('keeps ledgers, entries and what landed, on protocol %i', async (protocolVersion) => {
  const options = { closeEveryMs: null, stateFile, protocolVersion };
  const first = await startSorobanNode(options);
  const { factoryAddress } = await furnish(first, { depositAuth: 'nested', deploymentFee: 7n });
  const account = Keypair.random().publicKey();
  await clientOf(first).requestAirdrop(account);
  const position = first.closeLedger();
  const landed = await clientOf(first).getTransactions({ startLedger: 2 });
  await first.stop();

  const second = await startSorobanNode({ ...options, startsAt: 1, startsAtLedger: 5_000 });
  try {
    expect(second.latest()).toEqual(position);
    const client = clientOf(second);
    expect((await client.getAccountEntry(account)).balance().toBigInt()).toBe(100_000_000_000n);
    expect(await client.getTransactions({ startLedger: 2 })).toEqual(landed);
    expect(landed.transactions).toHaveLength(1);
    const network = await client.getNetwork();
    expect(Number(network.protocolVersion)).toBe(protocolVersion);
    expect(
      (await client.getContractData(factoryAddress, xdr.ScVal.scvLedgerKeyContractInstance())).key,
    ).toBeDefined();
    expect(second.closeLedger().sequence).toBe(position.sequence + 1);
  } finally {
    await second.stop();
  }
});

it('refuses a file of another protocol, and one that is damaged', async () => {
  const first = await startSorobanNode({ closeEveryMs: null, stateFile });
  await first.stop();
  await expect(startSorobanNode({ closeEveryMs: null, stateFile, protocolVersion: 26 })).rejects.toThrow(
    'another passphrase or protocol',
  );
  await writeFile(stateFile, JSON.stringify({ format: 1 }));
  await expect(startSorobanNode({ closeEveryMs: null, stateFile })).rejects.toThrow();
});

it('leaves controls to the program that runs it: none over HTTP', async () => {
  const node = await startSorobanNode({ closeEveryMs: null });
  try {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'control.closeLedger' });
    const answer = await fetch(node.url, { method: 'POST', body });
    expect(await answer.json()).toMatchObject({ id: 1, error: { code: -32_601 } });
  } finally {
    await node.stop();
  }
});
