/**
 * The filters of every list: each member lets matching rows through and keeps out the others.
 */
import { getNamedType, isEnumType, isInputObjectType } from 'graphql';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { schema } from '../../../src/schema/index.ts';
import { makeBelongings, OWNER, type Belongings } from '../../support/http/accessTable.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';

let market: Marketplace;
let own: Belongings;
let apiKeyId: string;
const DAY = 86_400;
const now = Math.floor(Date.now() / 1000);
const admin = { role: 'admin', subject: 'root' } as const;
const YESTERDAY = { from: now - DAY, until: now + DAY };

beforeAll(async () => {
  market = await startMarketplace();
  own = await makeBelongings(market);
  const { data } = await market.send<{ createApiKey: { apiKey: { id: string } } }>(
    `mutation { createApiKey(input: { name: "x", subject: "acme", roles: [BUYER], expiresAt: ${now + 10 * DAY},
      idempotencyKey: "k" }) { apiKey { id } } }`,
    {},
    admin,
  );
  apiKeyId = data?.createApiKey.apiKey.id ?? '';
}, 60_000);
afterAll(() => market.stop());

const elsewhere = () => market.network.custodyAddress;

/** For each member: a value that lets some rows through, and a value that lets none through. */
type Members = Record<string, () => [some: unknown, none: unknown]>;
const TIMES: Members = {
  from: () => [YESTERDAY.from, YESTERDAY.until],
  until: () => [YESTERDAY.until, YESTERDAY.from],
};
const LISTS: Record<string, [input: string, Members]> = {
  projects: [
    'ProjectFilter',
    {
      assetIds: () => [null, ['VCS-NONE']],
      countryCodes: () => [['BR', 'KE'], ['BR']],
      vintageYears: () => [[2023, 2024], [2023]],
      projectTypes: () => [['other', 'REDD+'], ['REDD']],
      creditTypes: () => [['VCU'], ['vcu']],
      states: () => [['OPEN', 'MINTING'], ['DEPLOYING']],
      buyable: () => [true, false],
      minUnsoldTonnes: () => ['900', '901'],
      minQuantityCO2e: () => [1000, 1001],
      maxQuantityCO2e: () => [1000, 999],
      ...TIMES,
    },
  ],
  retirements: [
    'RetirementFilter',
    {
      buyerIds: () => [['nil', OWNER], ['nil']],
      tokenAddresses: () => [[elsewhere(), own.tokenAddress], [elsewhere()]],
      states: () => [['PENDING', 'RETIRED'], ['REFUSED']],
      minTonnes: () => [10, 11],
      maxTonnes: () => [10, 9],
      ...TIMES,
    },
  ],
  receipts: [
    'ReceiptFilter',
    {
      tokenAddresses: () => [[own.receiptTokenAddress, elsewhere()], [elsewhere()]],
      farmerIds: () => [['nil', OWNER], ['nil']],
      farmerAddresses: () => [[elsewhere()], [own.tokenAddress]],
      warehouseIds: () => [[OWNER, 'nil'], ['nil']],
      lenderIds: () => [null, ['nil']],
      pledged: () => [false, true],
      commodityTypes: () => [['Maize', 'Wheat'], ['maize']],
      states: () => [['ACTIVE'], ['EXPIRED', 'REFUSED']],
      minQuantityKg: () => [1000, 1001],
      maxQuantityKg: () => ['1000', '999'],
      expiresFrom: () => [now, now + 1000 * DAY],
      expiresUntil: () => [now + 1000 * DAY, now],
      ...TIMES,
    },
  ],
  offRampSessions: [
    'OffRampSessionFilter',
    {
      receiptTokenAddresses: () => [[elsewhere(), own.receiptTokenAddress], [elsewhere()]],
      farmerIds: () => [[OWNER], ['nil']],
      states: () => [['AWAITING_PAYOUT', 'AWAITING_SIGNATURE'], ['CLOSED']],
      stranded: () => [false, true],
      overdue: () => [false, true],
      minTokenAmount: () => [1, 2],
      maxTokenAmount: () => [1, null],
      ...TIMES,
    },
  ],
  submissions: [
    'SubmissionFilter',
    {
      states: () => [['SUCCEEDED', 'PENDING'], ['NEEDS_REVIEW']],
      kinds: () => [['RETIRE', 'MINT'], ['REFUND_OFF_RAMP']],
      reviewCauses: () => [null, ['REFUSED', 'ATTEMPTS_DIED']],
      stuck: () => [false, true],
      ...TIMES,
    },
  ],
  auditEntries: [
    'AuditEntryFilter',
    {
      callerSubjects: () => [['nil', 'root'], ['nil']],
      apiKeyIds: () => [null, [apiKeyId]],
      fields: () => [['purchase', 'retire'], ['watchRetirements']],
      kinds: () => [['MUTATION', 'READ'], []],
      outcomes: () => [['OK', 'FAILED'], ['DRY_RUN']],
      errorCodes: () => [null, ['FORBIDDEN', 'CONFLICT']],
      unfinished: () => [null, null],
      // The value is not 'nil', because the log has operators' questions, and other lists are asked about
      // 'nil'.
      targetIds: () => [['nil', own.tokenAddress], ['unasked']],
      requestIds: () => [null, ['nil', 'none']],
      ...TIMES,
    },
  ],
  apiKeys: [
    'ApiKeyFilter',
    {
      subjects: () => [['nil', 'acme'], ['nil']],
      roles: () => [
        ['FARMER', 'BUYER'],
        ['FARMER', 'ADMIN'],
      ],
      active: () => [true, false],
      expiresFrom: () => [now + 9 * DAY, now + 11 * DAY],
      expiresUntil: () => [now + 11 * DAY, now + 9 * DAY],
      ...TIMES,
    },
  ],
};

async function count(list: string, input: string, filter: object): Promise<number> {
  const { data, errors } = await market.send<Record<string, { totalCount: number; nodes: object[] }>>(
    `query ($filter: ${input}) { ${list}(filter: $filter) { totalCount nodes { __typename } } }`,
    { filter },
    admin,
  );
  expect(errors, JSON.stringify(filter)).toEqual([]);
  const page = data?.[list];
  expect(page?.nodes).toHaveLength(Math.min(page?.totalCount ?? 0, 20));
  return page?.totalCount ?? 0;
}

const CASES = Object.entries(LISTS).flatMap(([list, [input, members]]) =>
  Object.entries(members).map(([member, values]) => ({ list, input, member, values })),
);

it.each(CASES)('$list by $member', async ({ list, input, member, values }) => {
  const [some, none] = values();
  if (some !== null) expect(await count(list, input, { [member]: some })).toBeGreaterThan(0);
  if (none !== null) expect(await count(list, input, { [member]: none })).toBe(0);
  if (!Array.isArray(some ?? none)) return;
  expect(await count(list, input, { [member]: [] })).toBe(0);
  const one = (some ?? none) as unknown[];
  const tooMany = { [member]: Array.from({ length: 101 }, () => one[0]) };
  const { errors } = await market.send(
    `query ($filter: ${input}) { ${list}(filter: $filter) { totalCount } }`,
    { filter: tooMany },
    admin,
  );
  // An enum has fewer values than the limit, and repeated values ask for nothing more.
  if (isEnumType(getNamedType(membersOf(input)[member]?.type))) expect(errors).toEqual([]);
  else expect(errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: `filter.${member}` });
});

function membersOf(input: string) {
  const type = schema.getType(input);
  if (!isInputObjectType(type)) throw new Error(`${input} is no input`);
  return type.getFields();
}

it.each(Object.entries(LISTS))(
  'no member of the filter of %s is left out here',
  (_list, [input, members]) => {
    expect(Object.keys(members).toSorted()).toEqual(Object.keys(membersOf(input)).toSorted());
  },
);
