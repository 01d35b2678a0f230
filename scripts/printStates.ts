/**
 * `npm run docs:states` prints the states of off-ramp sessions from their table into the docs; with `--check`
 * it fails when the docs differ.
 */
import { readFile } from 'node:fs/promises';
import { ENDED_OFF_RAMP_STATES } from '../src/db/tables/index.ts';
import { StartupError } from '../src/lib/startupErrors.ts';
import {
  EVENTS,
  TRANSITIONS,
  type Depositor,
  type Transition,
} from '../src/resolvers/warehouse/offRamp/transitions.ts';
import { runPrinting } from './printedFile.ts';

const PAGES: readonly { file: string; depositor: Depositor }[] = [
  { file: 'docs/architecture.md', depositor: 'CUSTODY' },
  { file: 'docs/wallets.md', depositor: 'HOLDER' },
];
const BEGIN = '<!-- printed by "npm run docs:states" from transitions.ts -->';
const END = '<!-- end of what is printed -->';

await runPrinting('printStates', 'Prints the states of off-ramp sessions into the docs.', () =>
  Promise.all(
    PAGES.map(async ({ file, depositor }) => {
      const page = await readFile(new URL(`../${file}`, import.meta.url), 'utf8');
      return { path: file, contents: withStates(file, page, statesOf(depositor)), script: 'docs:states' };
    }),
  ),
);

function withStates(file: string, page: string, states: string): string {
  const [before, rest, ...more] = page.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined || more.length > 0) {
    throw new StartupError(`${file} needs one place for the states, between ${BEGIN} and ${END}.`);
  }
  return `${before}${BEGIN}\n\n${states}\n\n${END}${after}`;
}

function statesOf(depositor: Depositor): string {
  const moves = TRANSITIONS.filter(
    (row) => row.from !== row.next && (row.depositor === 'ANY' || row.depositor === depositor),
  );
  const isReview = ({ from, next }: Transition) => from === 'NEEDS_REVIEW' || next === 'NEEDS_REVIEW';
  const arrows = together(
    moves.filter((row) => !isReview(row)),
    ({ from, next }) => `${from} --> ${next}`,
  );
  const into = together(
    moves.filter(({ event, next }) => next === 'NEEDS_REVIEW' && event !== 'undecidable'),
    ({ from }) => from,
  );
  const outOf = together(
    moves.filter(({ from }) => from === 'NEEDS_REVIEW'),
    ({ next }) => next,
  );
  return [
    '```mermaid',
    'stateDiagram-v2',
    '  [*] --> OPENING',
    ...arrows.map(([arrow, labels]) => `  ${arrow}: ${labels}`),
    ...ENDED_OFF_RAMP_STATES.map((end) => `  ${end} --> [*]`),
    '```',
    '',
    'To `NEEDS_REVIEW`:',
    '',
    `- from each state: ${EVENTS.undecidable} ([the cases](invariants.md#when-the-program-cant-decide))`,
    ...into.map(([from, labels]) => `- from \`${from}\`: ${labels}`),
    '',
    'From `NEEDS_REVIEW`:',
    '',
    ...outOf.map(([next, labels]) => `- to \`${next}\`: ${labels}`),
  ].join('\n');
}

/** Joins the labels of the transitions of each way; the ways keep the order of the table. */
function together(moves: readonly Transition[], wayOf: (row: Transition) => string): [string, string][] {
  const labels = new Map<string, Set<string>>();
  for (const move of moves) {
    const way = wayOf(move);
    labels.set(way, (labels.get(way) ?? new Set()).add(labelOf(move)));
  }
  return [...labels].map(([way, found]) => [way, [...found].join(', ')]);
}

function labelOf({ event, when }: Transition): string {
  const conditions = [
    when.isStopped === true && 'stopped before',
    when.isPaid === true && 'paid',
    when.isPaid === false && 'not paid',
    when.isFailed === true && 'not paid',
    when.isFailed === false && 'not known to be unpaid',
    when.isDeposited === true && 'deposited',
    when.isCancelled === true && 'cancelled',
    when.isCancelled === false && 'not cancelled',
    when.isUnderWay === true && 'deposit under way',
    when.isUnderWay === false && 'no deposit under way',
    when.resolution === 'SETTLE' && 'to the treasury',
    when.resolution === 'REFUND' && 'back to the depositor',
  ].filter((condition) => condition !== false);
  const label = EVENTS[event];
  return conditions.length === 0 ? label : `${label} (${conditions.join(' and ')})`;
}
