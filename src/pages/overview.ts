/**
 * The totals of all retirements and of the last weeks. All readers see the same ones, so they are read once
 * in a few seconds.
 */
import type { Clock } from '../lib/clock.ts';
import { cacheAnswer } from '../lib/cacheAnswer.ts';
import { MAX_COUNTED } from '../lib/pageSizes.ts';
import { askFor, type Ask } from './ask.ts';
import type { Page } from './records.ts';
import { dateOf, grouped, sumOf } from './text.ts';

/** Three sums over all retirements cost tenths of a second in a registry of millions. */
const MAX_AGE_MS = 5_000;
export const WEEKS = 13;
const DAY_SECONDS = 86_400;
const WEEK_SECONDS = 7 * DAY_SECONDS;
/** A page of the API has 100 countries, and ISO 3166-1 has 249. */
const COUNTRY_PAGES = 3;

export interface Totals {
  tonnes: string;
  retirementCount: number;
}

export interface Week extends Totals {
  /** The week's Monday. */
  day: string;
}

export interface Overview extends Totals {
  /** As text: the API counts up to MAX_COUNTED. */
  projects: string;
  weeks: Week[];
  countryCodes: string[];
  /** The vintages of retirements, latest first. */
  vintageYears: number[];
  /** The years from the latest vintage of a project to the earliest one. */
  projectYears: number[];
  projectTypes: string[];
}

const QUERY = `query RegistryOverview($from: UnixTime!, $until: UnixTime!) {
  vintages: retirementTotals(groupBy: VINTAGE, first: 100) { nodes { vintageYear tonnes retirementCount } }
  days: retirementTotals(groupBy: DAY, first: 100, filter: { from: $from, until: $until }) { nodes { day tonnes retirementCount } }
  projects(first: 1, orderBy: VINTAGE_NEWEST, filter: { states: [OPEN] }) { nodes { vintageYear } totalCount }
  oldest: projects(first: 1, orderBy: VINTAGE_OLDEST, filter: { states: [OPEN] }) { nodes { vintageYear } }
  projectTypes
}`;

const COUNTRIES = `query RegistryCountries($after: String) {
  retirementTotals(groupBy: COUNTRY, first: 100, after: $after) {
    nodes { countryCode }
    pageInfo { hasNextPage endCursor }
  }
}`;

interface Answer {
  vintages: { nodes: (Totals & { vintageYear: number })[] };
  days: { nodes: (Totals & { day: string })[] };
  projects: { nodes: { vintageYear: number }[]; totalCount: number };
  oldest: { nodes: { vintageYear: number }[] };
  projectTypes: string[];
}

export function createOverview(clock: Clock): (ask: Ask) => Promise<Overview> {
  return cacheAnswer({ maxAgeMs: MAX_AGE_MS, clock, cachesFailures: false }, (ask: Ask) =>
    readOverview(ask, clock.now().getTime()),
  );
}

async function readOverview(ask: Ask, nowMs: number): Promise<Overview> {
  const from = firstMonday(nowMs);
  const mondays = Array.from({ length: WEEKS }, (_, week) => from + week * WEEK_SECONDS);
  // A token's clock may be ahead: later days would fill the page, and the first weeks would lack theirs.
  const until = from + WEEKS * WEEK_SECONDS;
  const [{ vintages, days, projects, oldest, projectTypes }, countryCodes] = await Promise.all([
    askFor<Answer>(ask, QUERY, { from, until }),
    readCountryCodes(ask),
  ]);
  return {
    ...addUp(vintages.nodes),
    projects: countText(projects.totalCount),
    weeks: mondays.map((monday) => ({
      day: dateOf(monday),
      ...addUp(days.nodes.filter(({ day }) => day >= dateOf(monday) && day < dateOf(monday + WEEK_SECONDS))),
    })),
    countryCodes,
    projectTypes,
    vintageYears: vintages.nodes.map(({ vintageYear }) => vintageYear).sort((a, b) => b - a),
    projectYears: yearsBetween(projects.nodes[0]?.vintageYear, oldest.nodes[0]?.vintageYear),
  };
}

async function readCountryCodes(ask: Ask): Promise<string[]> {
  const codes: string[] = [];
  let after: string | null = null;
  for (let page = 0; page < COUNTRY_PAGES; page += 1) {
    const answer: { retirementTotals: Page<{ countryCode: string }> } = await askFor(ask, COUNTRIES, {
      after,
    });
    const { nodes, pageInfo } = answer.retirementTotals;
    codes.push(...nodes.map(({ countryCode }) => countryCode));
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  return codes.sort();
}

/** Empty without a project. The API accepts vintages of some decades, so the list is short. */
function yearsBetween(latest: number | undefined, earliest: number | undefined): number[] {
  if (latest === undefined || earliest === undefined) return [];
  return Array.from({ length: latest - earliest + 1 }, (_, i) => latest - i);
}

function countText(count: number): string {
  return `${grouped(String(count))}${count < MAX_COUNTED ? '' : ' or more'}`;
}

export function addUp(parts: readonly Totals[]): Totals {
  return {
    tonnes: sumOf(parts.map(({ tonnes }) => tonnes)),
    retirementCount: parts.reduce((sum, { retirementCount }) => sum + retirementCount, 0),
  };
}

/** The beginning of the first of the last weeks in UTC, in Unix seconds. 1970-01-01 was a Thursday. */
function firstMonday(nowMs: number): number {
  const today = Math.floor(nowMs / 1000 / DAY_SECONDS);
  const monday = today - ((today + 3) % 7);
  return monday * DAY_SECONDS - (WEEKS - 1) * WEEK_SECONDS;
}
