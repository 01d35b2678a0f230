/**
 * The totals of the registry's pages cover all retirements, and those of the last weeks theirs, also where the
 * API divides its answer into pages.
 */
import { expect, it } from 'vitest';
import { createOverview } from '../../../src/pages/overview.ts';
import { dateOf } from '../../../src/pages/text.ts';

/** A Wednesday. */
const NOW = new Date('2026-03-11T23:59:59Z');
const DAY_SECONDS = 86_400;

interface Registry {
  /** The country of each group of retirements, the largest first. */
  countryCodes?: readonly string[];
  /** The days, in Unix seconds, on each of which a tonne was retired. */
  days?: readonly number[];
  openProjects?: number;
  /** Of the latest project and of the earliest one. */
  projectVintages?: readonly number[];
}

/** Answers as the API does: with a hundred groups a page, days from the last to the first. */
function overviewOf({ countryCodes = [], days = [], openProjects = 0, projectVintages = [] }: Registry) {
  const ask = async (source: string, variables: Record<string, unknown> = {}) => {
    if (source.includes('groupBy: COUNTRY')) {
      const from = Number(variables['after'] ?? 0);
      const nodes = countryCodes.slice(from, from + 100).map((countryCode) => ({ countryCode }));
      const pageInfo = { hasNextPage: countryCodes.length > from + 100, endCursor: String(from + 100) };
      return { data: { retirementTotals: { nodes, pageInfo } } };
    }
    const { from, until } = variables as { from: number; until: number };
    expect(source).toContain('groupBy: DAY, first: 100, filter: { from: $from, until: $until }');
    const within = days.filter((day) => day >= from && day < until).toSorted((a, b) => b - a);
    const vintages = [2024, 2025].map((vintageYear, i) => ({
      vintageYear,
      tonnes: `${i}.5`,
      retirementCount: 2,
    }));
    const listed = projectVintages.map((vintageYear) => ({ vintageYear }));
    return {
      data: {
        vintages: { nodes: vintages },
        days: {
          nodes: within.slice(0, 100).map((day) => ({ day: dateOf(day), tonnes: '1', retirementCount: 1 })),
        },
        projects: { nodes: listed.slice(0, 1), totalCount: openProjects },
        oldest: { nodes: listed.slice(-1) },
        projectTypes: [],
      },
    };
  };
  return createOverview({ now: () => NOW })(ask);
}

it('offers all countries to filter by, and adds up the retirements of all vintages', async () => {
  const countryCodes = Array.from({ length: 249 }, (_, i) =>
    String.fromCharCode(65 + (i % 26), 65 + Math.floor(i / 26)),
  );
  const overview = await overviewOf({ countryCodes });
  expect(overview.countryCodes).toEqual(countryCodes.toSorted());
  expect(overview).toMatchObject({ tonnes: '2', retirementCount: 4, vintageYears: [2025, 2024] });
});

it.each([
  [
    [2026, 2023],
    [2026, 2025, 2024, 2023],
  ],
  [[2024], [2024]],
  [[], []],
])(
  'offers the years of projects from %j, whatever was retired of them',
  async (projectVintages, projectYears) => {
    expect(await overviewOf({ projectVintages })).toMatchObject({ projectYears });
  },
);

it('counts each day to the week that begins on its Monday, also when a token’s clock is ahead', async () => {
  const monday = Date.parse('2026-03-09') / 1000;
  const days = Array.from({ length: 400 }, (_, i) => monday + (i - 200) * DAY_SECONDS);
  const { weeks } = await overviewOf({ days });
  expect(weeks.map(({ day }) => day)).toEqual(
    Array.from({ length: 13 }, (_, i) => dateOf(monday - (12 - i) * 7 * DAY_SECONDS)),
  );
  expect(weeks.map(({ tonnes, retirementCount }) => [tonnes, retirementCount])).toEqual(
    Array.from({ length: 13 }, () => ['7', 7]),
  );
});

it.each([
  [9_999, '9\u{202f}999'],
  [10_000, '10\u{202f}000 or more'],
])('does not show as their number how far projects are counted: %d', async (openProjects, shown) => {
  expect((await overviewOf({ openProjects })).projects).toBe(shown);
});
