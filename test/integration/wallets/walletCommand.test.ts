/**
 * The command that replaces a wallet on the embedded network, and on a local Stellar network.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Account, Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeTransaction, openTransaction } from '../../../src/ledger/network/embedded/signing.ts';
import { pathOf } from '../../support/run/programs.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wallet-'));
});
afterAll(() => rm(folder, { recursive: true }));

function wallet(args: string[], input = '') {
  const run = spawnSync(process.execPath, [pathOf('src/cli/wallet.ts'), ...args], {
    input,
    encoding: 'utf8',
  });
  return { status: run.status, stdout: run.stdout, stderr: run.stderr };
}

it('makes a key, and signs with it what the network takes', async () => {
  const file = join(folder, 'key');
  const source = wallet(['new', file]).stdout.trim();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const transaction = {
    networkId: 'embedded-test',
    source,
    nonce: '0'.repeat(32),
    validUntil: 2_000_000_000n,
    invocation: { kind: 'retire', tokenAddress: 'C', amount: 1n, beneficiary: 'Ø', note: '' },
  } as const;
  const payload = Buffer.from(encodeTransaction(transaction)).toString('utf8');
  const { stdout } = wallet(['sign', file], `${payload}\n`);
  expect(openTransaction(Buffer.from(stdout.trim(), 'base64'), 'embedded-test')).toMatchObject({
    transaction,
  });
  // A new key never overwrites another one.
  expect(wallet(['new', file])).toMatchObject({ status: 3, stdout: '' });
});

it('signs a transaction of the Stellar network whose passphrase it is given', () => {
  const file = join(folder, 'stellar-key');
  const source = wallet(['new', file]).stdout.trim();
  const unsigned = new TransactionBuilder(new Account(source, '1'), {
    fee: '100',
    networkPassphrase: 'dev-stellar',
    timebounds: { minTime: 0, maxTime: 0 },
  })
    .addOperation(Operation.bumpSequence({ bumpTo: '7' }))
    .build();
  const sign = (passphrase: string) =>
    wallet(['sign', file, '--passphrase', passphrase], `${unsigned.toXDR()}\n`).stdout.trim();
  const isSignedFor = (text: string) => {
    const { signatures, hash } = readSigned(text);
    return Keypair.fromPublicKey(source).verify(hash, signatures[0]?.signature() ?? Buffer.alloc(0));
  };
  expect(isSignedFor(sign('dev-stellar'))).toBe(true);
  expect(isSignedFor(sign('another'))).toBe(false);
  const wrong = wallet(['sign', file, '--passphrase', 'dev-stellar'], 'AAAA');
  expect(wrong).toMatchObject({ status: 3, stdout: '' });
  expect(wrong.stderr).toBe('The payload is not a Stellar transaction (base64 XDR).\n');
});

function readSigned(text: string) {
  const transaction = TransactionBuilder.fromXDR(text, 'dev-stellar');
  return { signatures: transaction.signatures, hash: transaction.hash() };
}

it('says what is wrong in a sentence, and never the key', async () => {
  const file = join(folder, 'wrong');
  expect(wallet(['sign', file], '{}').stderr).toBe(
    `There is no ${file}, or no folder for it: make the folder, or name another file.\n`,
  );
  await writeFile(file, 'SECRET-THAT-IS-NONE');
  const wrong = wallet(['sign', file], '{}');
  expect(wrong).toMatchObject({ status: 3, stdout: '' });
  expect(wrong.stderr).toMatch(/^The secret key is not a Stellar seed.*\n$/);
  expect(wrong.stderr).not.toContain('SECRET-THAT-IS-NONE');
});
