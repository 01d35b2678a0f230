/**
 * `npm run docs:settings` writes the table of settings to docs/settings.md and .env.example; with `--check`
 * it fails when a committed file differs from the code.
 */
import * as z from 'zod';
import { SETTINGS } from '../src/config/settings.ts';
import type { Setting } from '../src/lib/settingRules.ts';
import { runPrinting } from './printedFile.ts';

const settings: [string, Setting][] = Object.entries(SETTINGS);

const PAGE = `# Settings

Settings come from the environment, or from a \`.env\` file in the working directory
([.env.example](../.env.example) lists them all). Every wrong or missing setting is reported at once, at the start. None is
needed to try the server; with \`NODE_ENV=production\` the server refuses to start on unsafe defaults and names what is
missing. A setting that belongs to another choice than the configured one, such as to another network or ramp provider, is refused
too, so that a forgotten \`LEDGER_NETWORK\` or \`RAMP_PROVIDER\` is noticed.

This page is printed from \`src/config/\` and the networks' \`settings.ts\` by \`npm run docs:settings\`.
`;

const ENV_HEADER = `# Every setting of the server, with its default. Copy to .env and change what you need.
# Nothing here is required to run on embedded defaults. Printed by npm run docs:settings.
`;

/** The allowed numbers or choices of a setting; empty for texts, whose form the meaning describes. */
function allowedOf({ schema }: Setting): string {
  const form = (io: 'input' | 'output') => z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  const { minimum, maximum } = form('output');
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return (form('input').enum ?? []).map((choice) => `\`${String(choice)}\``).join(', ');
}

function meaningOf({ description, secret }: Setting): string {
  return [description, ...(secret ? ['Secret.'] : [])].join(' ');
}

/** Pads the cells, as the formatter expects in tables. */
function markdownTable(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, at) => Math.max(cell.length, widest[at] ?? 3)),
    [],
  );
  const [head = [], ...body] = rows;
  return [head, widths.map((width) => '-'.repeat(width)), ...body]
    .map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |\n`)
    .join('');
}

function settingsPage(): string {
  const rows = settings.map(([name, setting]) => [
    `\`${name}\``,
    setting.default === null ? '' : `\`${setting.default}\``,
    allowedOf(setting),
    meaningOf(setting),
  ]);
  return `${PAGE}\n${markdownTable([['Setting', 'Default', 'Allowed', 'Meaning'], ...rows])}`;
}

function envExample(): string {
  const entries = settings.map(([name, setting]) => {
    const allowed = allowedOf(setting).replaceAll('`', '');
    const meaning = [setting.description, ...(allowed === '' ? [] : [`Allowed: ${allowed}.`])].join(' ');
    return `# ${meaning}\n#${name}=${setting.default ?? ''}\n`;
  });
  return [ENV_HEADER, ...entries].join('\n');
}

await runPrinting(
  'printSettings',
  'Prints the table of settings to docs/settings.md and .env.example.',
  () => [
    { path: 'docs/settings.md', contents: settingsPage(), script: 'docs:settings' },
    { path: '.env.example', contents: envExample(), script: 'docs:settings' },
  ],
);
