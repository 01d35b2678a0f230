/**
 * `npm run -s token -- --role buyer --sub acme`: prints one bearer token for the running configuration.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { loadConfig } from '../config/config.ts';
import { signDevelopmentToken } from '../startup/developmentTokens.ts';
import { ROLES, SUBJECT_FORM, SUBJECT_PATTERN, type Role } from '../identity/roles.ts';
import { runCommand } from './runCommand.ts';

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

const command = new Command('token')
  .description('Prints one bearer token for the running configuration.')
  .addOption(new Option('--role <role>', 'what the token may do').choices(ROLES).makeOptionMandatory())
  .option(
    '--sub <subject>',
    "whose token it is; a buyer's is their buyerId (default: one per role)",
    parseSubject,
  )
  .option('--expires <duration>', 'how long it is good for: 90s, 30m, 12h, 7d', parseDuration)
  .action(async ({ role, sub, expires }: { role: Role; sub?: string; expires?: number }) => {
    const config = await loadConfig();
    process.stdout.write(`${await signDevelopmentToken(config, role, sub, expires)}\n`);
  });

await runCommand(command);

function parseSubject(text: string): string {
  if (SUBJECT_PATTERN.test(text)) return text;
  throw new InvalidArgumentError(`Use ${SUBJECT_FORM}.`);
}

function parseDuration(text: string): number {
  const [, amount, unit = ''] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError('Use a number and s, m, h or d: 12h.');
  return Number(amount) * (UNIT_SECONDS[unit] ?? 0);
}
