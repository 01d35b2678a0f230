/**
 * A run's result as Markdown; for a failed run, with everything that is needed to repeat it.
 */
import { neverAccepted, type RunOptions, type RunResult } from './run.ts';

export function commandFor({
  seed,
  lengthMs,
  network,
  servers,
}: Pick<RunOptions, 'seed' | 'lengthMs' | 'network' | 'servers'>): string {
  const minutes = Number((lengthMs / 60_000).toFixed(3));
  return `npm run chaos -- --seed ${seed} --minutes ${minutes} --network ${network} --servers ${servers}`;
}

export function describeRun(result: RunResult): string {
  const { rest, violations } = result;
  const rested = rest.afterMs === null ? 'never' : `${(rest.afterMs / 1000).toFixed(1)} s`;
  return [
    `# ${violations.length === 0 ? 'Everything holds' : `${violations.length} violations`}: seed ${result.seed}, ${result.network}`,
    '',
    `- Command: \`${commandFor(result)}\``,
    `- Mutations accepted: ${counts(result.accepted)}; refused: ${counts(result.refusals)}`,
    `- Never accepted, so not tested: ${neverAccepted(result.accepted).join(', ') || 'none'}`,
    `- Tries without an answer: ${result.failedTries}; answered successes that were looked up again: ${result.facts}`,
    `- Faults: ${counts(result.faults)}`,
    `- Callbacks of the provider: ${counts(result.callbacks)}`,
    `- Starts of ${result.servers} servers: ${result.starts}; reconnects of followers: ${result.reconnects}`,
    `- At rest after the last fault: ${rested}; flagged for review: ${counts(rest.flagged)}`,
    ...Object.entries(rest.reasons).map(([reason, count]) => `  - ${count} because ${reason}`),
    ...(result.defects.length > 0
      ? [`- Errors that servers called defects: ${result.defects.join('; ')}`]
      : []),
    ...(violations.length === 0 ? [] : failure(result)),
  ].join('\n');
}

function failure({ violations, log, folder }: RunResult): string[] {
  return [
    '',
    '## Violations',
    '',
    ...violations.map((violation) => `- ${violation}`),
    '',
    '## Schedule',
    '',
    ...log.map((line) => `- ${line}`),
    '',
    `The logs of the servers: ${folder}. The command above meets the same faults at the same times.`,
  ];
}

function counts(of: Readonly<Record<string, number>>): string {
  const entries = Object.entries(of).sort(([a], [b]) => a.localeCompare(b));
  return entries.length === 0 ? 'none' : entries.map(([name, count]) => `${count} ${name}`).join(', ');
}
