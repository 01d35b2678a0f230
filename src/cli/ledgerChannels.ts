/**
 * `npm run ledger:channels -- --count 22`: creates Stellar channel accounts, paid with custody's XLM, for
 * more writes at a time, and tops up accounts that have spent theirs. Without --count it only lists them.
 * Their keys go to a file, never to the terminal.
 */
import { randomBytes } from 'node:crypto';
import { Command, InvalidArgumentError, Option } from 'commander';
import pc from 'picocolors';
import { ensureChannels, type ChannelsRequest, type EnsuredChannels } from '../diagnostics/ensureChannels.ts';
import { loadConfig } from '../config/config.ts';
import { familyOf } from '../ledger/network/families.ts';
import { MIN_SPENDABLE_STROOPS, RESERVE_STROOPS, showXlm } from '../ledger/network/stellar/lumens.ts';
import { openConfiguredDatabase } from '../startup/openDatabase.ts';
import { MAX_CHANNELS } from '../ledger/network/stellar/settings.ts';
import { StartupError } from '../lib/startupErrors.ts';
import { runCommand } from './runCommand.ts';

const STROOPS_DIGITS = 7;
/** The network reserves 1 XLM per account; the rest pays fees of some hundredths of an XLM per write. */
const DEFAULT_FUNDS_XLM = '10';
/** Accounts are topped up at half of these funds, while they can still sign. */
const LEAST_FUNDS_STROOPS = 2n * (2n * RESERVE_STROOPS + MIN_SPENDABLE_STROOPS);

const command = new Command('ledger:channels')
  .description('Shows the Stellar channel accounts, or makes and tops them up with the XLM of custody.')
  .option('--count <number>', `how many there should be, at most ${MAX_CHANNELS}`, parseCount, 0)
  .addOption(
    new Option('--funds <xlm>', `XLM that each new one gets, at least ${showXlm(LEAST_FUNDS_STROOPS)}`)
      .argParser(parseXlm)
      // The help can't show a bigint.
      .default(parseXlm(DEFAULT_FUNDS_XLM), DEFAULT_FUNDS_XLM),
  )
  .action(async ({ count, funds }: { count: number; funds: bigint }) => {
    print(await ensure({ count, fundsStroops: funds }));
  });

await runCommand(command);

async function ensure(request: ChannelsRequest): Promise<EnsuredChannels> {
  const config = await loadConfig();
  const { ledger, DATA_DIR: dataDir } = config;
  if (familyOf(ledger).channels === null) {
    throw new StartupError(
      `LEDGER_NETWORK is ${config.LEDGER_NETWORK}: channels are accounts of Stellar, and other networks need none.`,
    );
  }
  const database = await openConfiguredDatabase(config, { olderSchema: 'leave' });
  try {
    const { db } = database.handle;
    return await ensureChannels({ ledger, dataDir, db, random: randomBytes }, request);
  } finally {
    await database.stop();
  }
}

function print({ channels, made, toppedUp, keys }: EnsuredChannels): void {
  const what = (address: string) =>
    made.includes(address) ? '  made now' : toppedUp.includes(address) ? '  topped up now' : '';
  const lines = channels.map(({ address, balanceStroops }) => {
    const state = balanceStroops === null ? pc.red('does not exist') : `${showXlm(balanceStroops)} XLM`;
    return `${address}  ${state}${pc.green(what(address))}`;
  });
  lines.push(
    channels.length === 0
      ? 'No channels: custody writes once per ledger. Make some with npm run ledger:channels -- --count 22'
      : `${channels.length} channels: ${made.length} made now, ${toppedUp.length} topped up.`,
  );
  if (keys.file !== null) {
    lines.push(
      `${pc.bold('Not configured yet:')} put the line in ${keys.file} into the environment of every instance, and ` +
        'keep it as secret as custody’s own key. No key was printed here.',
    );
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}

function parseCount(text: string): number {
  const count = Number(text);
  if (/^\d{1,4}$/.test(text) && count >= 1 && count <= MAX_CHANNELS) return count;
  throw new InvalidArgumentError(`Use a number from 1 to ${MAX_CHANNELS}.`);
}

function parseXlm(text: string): bigint {
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,7}))?$/.exec(text) ?? [];
  const stroops = whole === undefined ? 0n : BigInt(whole + fraction.padEnd(STROOPS_DIGITS, '0'));
  if (stroops >= LEAST_FUNDS_STROOPS) return stroops;
  throw new InvalidArgumentError(
    `Use an amount of XLM from ${showXlm(LEAST_FUNDS_STROOPS)} on, such as 10 or 4.5.`,
  );
}
