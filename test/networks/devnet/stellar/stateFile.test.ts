/**
 * A network in a file: after a stop and a start, it continues where it was.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Asset, Keypair, Operation, rpc, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROTOCOLS } from '../../../../devnet/soroban/engine.ts';
import { startSorobanNode } from '../../../../devnet/soroban/startSorobanNode.ts';
import type { SorobanNodeOptions } from '../../../../devnet/soroban/startSorobanNode.ts';
import { furnish } from '../../../../devnet/stellar/contracts.ts';

let folder: string;
let stateFile: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'soroban-state-'));
  stateFile = join(folder, 'network.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const settingKey = xdr.LedgerKey.configSetting(
  new xdr.LedgerKeyConfigSetting({ configSettingId: xdr.ConfigSettingId.configSettingStateArchival() }),
);
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

it('keeps what was dropped from being taken, and reports its own settings', async () => {
  const first = await startSorobanNode({ closeEveryMs: null, queueLedgers: 1, stateFile });
  const payer = Keypair.random();
  first.fund(payer.publicKey());
  const payment = new TransactionBuilder(await clientOf(first).getAccount(payer.publicKey()), {
    fee: '100',
    networkPassphrase: first.passphrase,
    timebounds: { minTime: 0, maxTime: 0 },
  })
    .addOperation(Operation.payment({ destination: payer.publicKey(), asset: Asset.native(), amount: '1' }))
    .build();
  payment.sign(payer);
  const send = async (node: { url: string }) => (await clientOf(node).sendTransaction(payment)).status;
  expect(await send(first)).toBe('PENDING');
  first.setInclusionPrice(1_000);
  first.closeLedger();
  expect(await send(first)).toBe('TRY_AGAIN_LATER');
  await first.stop();

  const second = await startSorobanNode({ closeEveryMs: null, minPersistentTtlLedgers: 77, stateFile });
  try {
    expect(await send(second)).toBe('TRY_AGAIN_LATER');
    const { entries } = await clientOf(second).getLedgerEntries(settingKey);
    const archival = entries[0]?.val.configSetting().stateArchivalSettings();
    expect(archival?.minPersistentTtl()).toBe(77);
  } finally {
    await second.stop();
  }
});

describe('says in a sentence with the name of the file', () => {
  const start = (options: SorobanNodeOptions = {}) =>
    startSorobanNode({ closeEveryMs: null, stateFile, ...options });

  it('that it is of another protocol, in a format of another program, or rubbish', async () => {
    await (await start()).stop();
    const told = (reason: string) =>
      `The network's file ${stateFile} cannot be used: ${reason}. Remove it to begin a new network.`;
    await expect(start({ protocolVersion: 26 })).rejects.toThrow(
      told('the saved network has another passphrase or protocol'),
    );
    const saved = JSON.parse(await readFile(stateFile, 'utf8')) as object;
    for (const [content, reason] of [
      ['null', 'the saved network is not in a format that is known here'],
      ['{"format": 9}', 'the saved network is not in a format that is known here'],
      [JSON.stringify({ ...saved, entries: [['AAAA', null]] }), 'the saved network is damaged'],
      [JSON.stringify({ ...saved, banned: undefined }), 'the saved network is damaged'],
      ['{"format": 1, "ent', 'it is not JSON'],
    ] as const) {
      await writeFile(stateFile, content);
      await expect(start()).rejects.toThrow(told(reason));
      // An unreadable file is not replaced either.
      expect(await readFile(stateFile, 'utf8')).toBe(content);
    }
  });

  it('that another node has it, of this process or of another', async () => {
    const first = await start();
    await expect(start()).rejects.toThrow(
      `The network's file ${stateFile} is in use by another node. If there is none, remove ${stateFile}.lock and try again.`,
    );
    // Simulates a lock that was removed by hand while its node ran.
    await writeFile(`${stateFile}.lock`, `${process.ppid} other`);
    await expect(start()).rejects.toThrow('in use by another node');
    await expect(first.save()).rejects.toThrow(
      `The network's file ${stateFile} belongs to another node by now.`,
    );
    await expect(first.stop()).rejects.toThrow('belongs to another node by now');
  });

  it('never that a killed node has it, whose half-written file counts for nothing', async () => {
    const first = await start();
    const position = first.closeLedger();
    await first.stop();
    const ended = spawnSync(process.execPath, ['--version']).pid;
    await writeFile(`${stateFile}.lock`, `${ended} killed`);
    await writeFile(`${stateFile}.new`, '{"format": 1, "ent');
    const second = await start();
    expect(second.latest()).toEqual(position);
    await second.stop();
    expect((await readdir(folder)).sort()).toEqual(['network.json']);
  });
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
