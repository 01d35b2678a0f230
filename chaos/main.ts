/**
 * `npm run chaos -- --seed N --minutes M`: the product under load and faults, then the verdict.
 */
import { writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import pc from 'picocolors';
import { LAB_NETWORKS, type LabNetwork } from './lab.ts';
import { runChaos } from './run.ts';
import { commandFor, describeRun } from './summary.ts';

interface Options {
  seed: number;
  minutes: number;
  network: LabNetwork;
  servers: number;
  json?: string;
}

const within =
  (least: number, most: number) =>
  (text: string): number => {
    const number = Number(text);
    if (!(number >= least && number <= most)) throw new InvalidArgumentError(`must be ${least} to ${most}`);
    return number;
  };

await new Command('chaos')
  .description(
    'Runs the product under load and faults, leaves it alone, and says whether everything promised holds.',
  )
  .addOption(
    new Option('--seed <n>', 'which faults come when, and what clients ask')
      .argParser(within(0, 2 ** 28))
      .default(Math.floor(Math.random() * 2 ** 28), 'a random one'),
  )
  .addOption(new Option('--minutes <m>', 'of load and faults').argParser(within(0.05, 24 * 60)).default(2))
  .addOption(new Option('--network <name>').choices(LAB_NETWORKS).default('embedded'))
  .addOption(new Option('--servers <n>').argParser(within(1, 3)).default(2))
  .option('--json <file>', 'where to write the summary as JSON')
  .action(async ({ seed, minutes, network, servers, json }: Options) => {
    const say = (line: string) => process.stderr.write(`${pc.dim(line)}\n`);
    say(commandFor({ seed, lengthMs: minutes * 60_000, network, servers }));
    const result = await runChaos({ seed, lengthMs: minutes * 60_000, network, servers, say });
    process.stdout.write(`${describeRun(result)}\n`);
    if (json !== undefined) await writeFile(json, `${JSON.stringify(result, null, 2)}\n`);
    process.exitCode = result.violations.length > 0 ? 1 : 0;
  })
  .parseAsync();
