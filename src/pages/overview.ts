/**
 * The totals of all retirements and of the last weeks. All readers see the same ones, so they are read once
 * in a few seconds.
 */
import type { Clock } from '../lib/clock.ts';
import { cacheAnswer } from '../lib/cacheAnswer.ts';
import { askFor, type Ask } from './ask.ts';
import { dateOf, sumOf } from './text.ts';

/** Three sums over all retirements cost tenths of a second in a registry of millions. */
const MAX_AGE_MS = 5_000;
export const WEEKS = 13;
const DAY_SECONDS = 86_400;

export interface Totals {
  tonnes: string;
  retirementCount: number;
}

export interface Week extends Totals {
  /** The week's Monday. */
  day: string;
}

export interface Overview extends Totals {
  projects: number;
  weeks: Week[];
  countryCodes: string[];
  vintageYears: number[];
  projectTypes: string[];
}

const QUERY = `query RegistryOverview($from: UnixTime!) {
  vintages: retirementTotals(groupBy: VINTAGE, first: 100) { nodes { vintageYear tonnes retirementCount } }
  countries: retirementTotals(groupBy: COUNTRY, first: 100) { nodes { countryCode } }
  days: retirementTotals(groupBy: DAY, first: 100, filter: { from: $from }) { nodes { day tonnes retirementCount } }
  projects(first: 1, filter: { states: [OPEN] }) { totalCount }
  projectTypes
}`;

interface Answer {
  vintages: { nodes: (Totals & { vintageYear: number })[] };
  countries: { nodes: { countryCode: string }[] };
  days: { nodes: (Totals & { day: string })[] };
  projects: { totalCount: number };
  projectTypes: string[];
}

export function createOverview(clock: Clock): (ask: Ask) => Promise<Overview> {
  return cacheAnswer({ maxAgeMs: MAX_AGE_MS, clock, cachesFailures: false }, (ask: Ask) =>
    readOverview(ask, clock.now().getTime()),
  );
}

async function readOverview(ask: Ask, nowMs: number): Promise<Overview> {
  const mondays = lastMondays(nowMs);
  const { vintages, countries, days, projects, projectTypes } = await askFor<Answer>(ask, QUERY, {
    from: mondays[0],
  });
  return {
    ...addUp(vintages.nodes),
    projects: projects.totalCount,
    weeks: mondays.map((monday) => ({
      day: dateOf(monday),
      ...addUp(
        days.nodes.filter(({ day }) => day >= dateOf(monday) && day < dateOf(monday + 7 * DAY_SECONDS)),
      ),
    })),
    countryCodes: countries.nodes.map(({ countryCode }) => countryCode).sort(),
    projectTypes,
    vintageYears: vintages.nodes.map(({ vintageYear }) => vintageYear).sort((a, b) => b - a),
  };
}

export function addUp(parts: readonly Totals[]): Totals {
  return {
    tonnes: sumOf(parts.map(({ tonnes }) => tonnes)),
    retirementCount: parts.reduce((sum, { retirementCount }) => sum + retirementCount, 0),
  };
}

/** The beginnings of the last weeks in UTC, in Unix seconds, oldest first. 1970-01-01 was a Thursday. */
function lastMondays(nowMs: number): number[] {
  const today = Math.floor(nowMs / 1000 / DAY_SECONDS);
  const monday = today - ((today + 3) % 7);
  return Array.from({ length: WEEKS }, (_, i) => (monday - 7 * (WEEKS - 1 - i)) * DAY_SECONDS);
}
