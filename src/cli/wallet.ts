/**
 * `npm run -s wallet -- new <file>` and `… sign <file>`: a wallet for the embedded network, which no other
 * wallet supports, and for a development Stellar network on this machine. Real networks need a real wallet.
 */
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { codeOf, messageOf } from '../lib/errors.ts';
import { signPayload } from '../ledger/network/embedded/wallets.ts';
import { addressOfSecretKey, generateSecretKey } from '../lib/strkey.ts';
import { StartupError } from '../lib/startupErrors.ts';
import { runCommand } from './runCommand.ts';

const FILE_PROBLEMS: Readonly<Record<string, (file: string) => string>> = {
  EEXIST: (file) => `${file} exists already, and a wallet is never overwritten: choose another file.`,
  ENOENT: (file) => `There is no ${file}, or no folder for it: make the folder, or name another file.`,
};

const command = new Command('wallet').description(
  'A wallet for trying out the embedded network and dev:stellar.',
);

command
  .command('new')
  .argument('<file>', 'where the secret key is kept; must not exist yet')
  .description('Makes a wallet, and prints its address.')
  .action(async (file: string) => {
    const secretKey = generateSecretKey(randomBytes);
    await orExplain(writeFile(file, `${secretKey}\n`, { mode: 0o600, flag: 'wx' }), file);
    process.stdout.write(`${addressOfSecretKey(secretKey)}\n`);
  });

command
  .command('sign')
  .argument('<file>', 'where "wallet new" has put the secret key')
  .description(
    "Reads an act's unsigned.payload from standard input, signs it, and prints what submitSigned takes.",
  )
  .option('--passphrase <text>', 'of the Stellar network that the payload is a transaction of')
  .action(async (file: string, { passphrase }: { passphrase?: string }) => {
    const secretKey = (await orExplain(readFile(file, 'utf8'), file)).trim();
    const payload = (await text(process.stdin)).trim();
    if (payload === '')
      throw new StartupError(
        'There is nothing to sign: pass the unsigned.payload of an act on standard input.',
      );
    process.stdout.write(`${await orExplain(sign(secretKey, payload, passphrase), file)}\n`);
  });

await runCommand(command);

async function sign(secretKey: string, payload: string, passphrase: string | undefined): Promise<string> {
  if (passphrase === undefined) return signPayload(secretKey, payload);
  const { signEnvelope } = await import('../ledger/network/stellar/signEnvelope.ts');
  return signEnvelope(secretKey, payload, passphrase);
}

/** Turns a failure into one sentence. */
async function orExplain<T>(work: Promise<T>, file: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const message = FILE_PROBLEMS[codeOf(error)]?.(file) ?? messageOf(error);
    throw new StartupError(message, { cause: error });
  }
}
