/**
 * How pages handle strangers' texts, a network that does not answer, and the kind of network.
 */
import { getOperationAST, GraphQLError, OperationTypeNode, parse, validate } from 'graphql';
import { describe, expect, it, vi } from 'vitest';
import { schema } from '../../../src/schema/index.ts';
import { askFor } from '../../../src/pages/ask.ts';
import { beneficiaryPage } from '../../../src/pages/beneficiary.tsx';
import { checkOnNetwork } from '../../../src/pages/certificateRecord.ts';
import { csvOf } from '../../../src/pages/csv.ts';
import { recordCommands as onEvm } from '../../../src/ledger/network/evm/recordCommands.ts';
import { recordCommands as onStellar } from '../../../src/ledger/network/stellar/recordCommands.ts';
import { errorPage } from '../../../src/pages/errorPage.tsx';
import { isFree, standingAt, standingText } from '../../../src/pages/receipt.tsx';
import { OlderLink } from '../../../src/pages/parts/recordList.tsx';
import { Foreign, Name } from '../../../src/pages/parts/shownText.tsx';
import { WeekChart } from '../../../src/pages/parts/weekChart.tsx';
import { beneficiaryPath, readPublicId } from '../../../src/pages/records.ts';
import { rendered } from '../../../src/pages/layout.tsx';
import { search } from '../../../src/pages/search.ts';
import { grouped, isoOf, periodText, placeOf, shown, sumOf } from '../../../src/pages/text.ts';
import { measure, priceFields } from '../../../src/limits/operationCost.ts';
import { leastSetting } from '../../support/leastSetting.ts';
import { CERTIFICATE_RECORD } from '../../support/certificateRecord.ts';
import { pageSite } from '../../support/pageSite.ts';

const READER_WAITS_MS = 3_000;

describe('text of strangers', () => {
  it('is cut between characters, without what changes its surroundings', () => {
    expect(shown('Acme', 10)).toBe('Acme');
    expect(shown('👩‍👩‍👧'.repeat(3), 10)).toBe('👩‍👩‍👧…');
    expect(shown(`e${'\u{301}'.repeat(9_999)}`, 50).length).toBeLessThanOrEqual(50);
    expect(shown('\u{202e}evil\n\u{0}', 50)).toBe('\u{fffd}evil\u{fffd}\u{fffd}');
    expect(shown('می\u{200c}خواهم', 50)).toBe('می\u{200c}خواهم');
  });

  it('is on a page as text, without what changes its surroundings, and not at any length', () => {
    for (const show of [(text: string) => Foreign({ text }), (name: string) => Name({ name })]) {
      expect(rendered(show('<b>&"'))).toBe('<bdi class="foreign">&lt;b&gt;&amp;&quot;</bdi>');
      expect(rendered(show('\u{202e}evil'))).toBe('<bdi class="foreign">\u{fffd}evil</bdi>');
      expect(rendered(show('W'.repeat(10_000))).length).toBeLessThan(200);
    }
  });

  it.each(['=1+1', '+1', '-2+3', '@SUM(A1)', '\t=1', '\u{feff}=1', '＝1', '＋1', '－1', '＠A1', '\r=1'])(
    'is no formula in CSV: %j',
    (text) => {
      expect(csvOf([[text]])).toMatch(/^"'/);
    },
  );

  it.each(['Acme;=1+1', 'Acme\t@SUM(A1)', 'Acme\n =1+1', 'Acme;"=1+1"', 'Acme\r-2+3'])(
    'is no formula in CSV where a spreadsheet ends cells at other characters than commas: %j',
    (text) => {
      for (const part of csvOf([['2026', text]]).split(/[;\t\r\n]/)) {
        expect(part.replaceAll(/["\s]/g, '')).not.toMatch(/^[=+\-@]/);
      }
    },
  );

  it('leaves numbers and plain texts in CSV as they are', () => {
    expect(csvOf([['-12.5', 'Acme', 'a,b']])).toBe('-12.5,Acme,"a,b"\r\n');
    expect(csvOf([['a"b', 'a\nb', 'a\rb']])).toBe('"a""b","a\nb","a\rb"\r\n');
  });

  it('has an address only where an address can hold it', () => {
    expect(beneficiaryPath('a/b?c')).toBe('/beneficiaries/a%2Fb%3Fc');
    expect(beneficiaryPath('a.csv')).toBe('/beneficiaries/a%2Ecsv');
    expect(beneficiaryPath('')).toBeNull();
    expect(beneficiaryPath('\u{d800}')).toBeNull();
    expect(beneficiaryPath('W'.repeat(257))).toBeNull();
  });
});

it('shows the retirements of a beneficiary who has more of them than are added up', async () => {
  const tooMany = new GraphQLError('too many', { extensions: { code: 'RESULT_TOO_LARGE' } });
  const project = { assetId: 'VCS-1-2024', countryCode: 'KE', vintageYear: 2024 };
  const node = { index: 3, tokenAddress: 'CABC', beneficiary: 'Acme', tonnes: '5', timestamp: 7, project };
  const retirementRecords = { nodes: [node], pageInfo: { hasNextPage: true, endCursor: 'next' } };
  const ask = async (source: string) =>
    source.includes('retirementTotals') ? { data: null, errors: [tooMany] } : { data: { retirementRecords } };
  const { status, body } = await beneficiaryPage(pageSite(), { ask, query: new URLSearchParams() }, 'Acme');
  expect([status, String(body).includes('href="/retirements/CABC-3"')]).toEqual([200, true]);
  expect(String(body)).toContain('There are too many retirements to add up');
});

describe('the search', () => {
  const searching = async (text: string, found: Record<string, unknown> = {}) => {
    const asked: unknown[] = [];
    const ask = async (source: string, variables: Record<string, unknown> = {}) => {
      asked.push(variables['name'] ?? variables['text']);
      return { data: source.includes('FindByGlobalId') ? found : {} };
    };
    return { asked, ...(await search(ask, text)) };
  };

  it.each(['Cafe\u{301}', 'W'.repeat(500)])(
    'asks for a project and a name as they are written, which the API finds in both spellings: %s',
    async (written) => {
      expect((await searching(` ${written} `)).asked).toEqual([written, written]);
    },
  );

  it('asks for a transaction’s hash as it is written, and for nothing else', async () => {
    const hash = 'ab'.repeat(32);
    for (const text of [hash, `0x${hash}`, hash.toUpperCase()]) {
      expect((await searching(text)).asked).toEqual([text]);
    }
  });

  it('finds the project of a token', async () => {
    const ask = async (source: string) => ({
      data: source.includes('FindByToken') ? { project: { assetId: 'VCS-1-2024' } } : {},
    });
    const { assetIds } = await search(ask, `0x${'aB'.repeat(20)}`);
    expect(assetIds).toEqual(['VCS-1-2024']);
  });

  it('takes no other object for a retirement', async () => {
    const id = Buffer.from('Project:01a1fd63-66ce-7db7-82fe-eaf1f3dffd1e').toString('base64url');
    expect((await searching(id, { record: {} })).records).toEqual([]);
    expect((await searching(id, { record: CERTIFICATE_RECORD })).records).toEqual([CERTIFICATE_RECORD]);
  });
});

it('says when a page that can’t be shown may be asked for again', async () => {
  const extensions = { code: 'OVERLOADED', retryAfterSeconds: 3 };
  const ask = async () => ({ data: null, errors: [new GraphQLError('busy', { extensions })] });
  await expect(askFor(ask, '{ viewer { id } }')).rejects.toMatchObject({
    code: 'OVERLOADED',
    details: { retryAfterSeconds: 3 },
  });
  const failure = { status: 503, message: 'busy', requestId: 'r', retryAfterSeconds: 3 };
  const { status, headers, body } = errorPage(pageSite(), failure);
  expect([status, headers['retry-after']]).toEqual([503, '3']);
  expect(String(body)).toContain('Try again in 3 s.');
});

it('names as the most that a week has no less than it has', () => {
  const week = (tonnes: string) => ({ day: '2026-01-05', tonnes, retirementCount: 1 });
  expect(rendered(WeekChart({ weeks: [week('0.4'), week('10.25')] }))).toContain('at most 11 t');
  // A week with little looks different from one with nothing.
  expect(rendered(WeekChart({ weeks: [week('0.001'), week('100')] }))).toContain('height="1"');
});

it('leads on to what is older, and back to the newest, with what the list was filtered by', () => {
  const pager = (search: string, hasNextPage: boolean) => {
    const page = { nodes: [], pageInfo: { hasNextPage, endCursor: 'end' } };
    return rendered(OlderLink({ page, path: '/projects', query: new URLSearchParams(search) }));
  };
  expect(pager('country=KE', false)).toBe('null');
  expect(pager('country=KE', true)).toContain('<a rel="next" href="/projects?country=KE&amp;after=end">');
  expect(pager('country=KE', true)).not.toContain('Newest');
  const last = pager('country=KE&after=end', false);
  expect(last).toContain('<a href="/projects?country=KE">Newest</a>');
  expect(last).not.toContain('Older');
});

it('asks in the console only for what the contract has, at a cost that each server allows', async () => {
  const address = new URL('../../../src/pages/assets/scripts/console/documents.js', import.meta.url).href;
  const documents = Object.entries((await import(address)) as Record<string, string>);
  expect(documents.length).toBeGreaterThan(5);
  priceFields(schema);
  const variables = { isOperator: true, seesCaps: true, id: 'x' };
  for (const [name, text] of documents) {
    const document = parse(text);
    expect([name, validate(schema, document)]).toEqual([name, []]);
    const operation = getOperationAST(document);
    if (operation?.operation !== OperationTypeNode.QUERY) continue;
    const { cost, depth } = measure(schema, document, operation, variables);
    expect(cost, name).toBeLessThanOrEqual(leastSetting('MAX_OPERATION_COST'));
    expect(depth, name).toBeLessThanOrEqual(leastSetting('MAX_OPERATION_DEPTH'));
  }
});

it('names a country once', () => {
  const place = (projectLocation: string, countryCode = 'KE') =>
    placeOf({ projectLocation, countryCode }).country;
  expect([place('Kasigau, Kenya'), place('KENYA'), place('Kasigau')]).toEqual([null, null, 'Kenya']);
  // A part of another word does not count as a name.
  expect([place('Nigeria', 'NE'), place('Guinea-Bissau', 'GW')]).toEqual(['Niger', null]);
});

it('reads as public ids what it makes, and nothing else', () => {
  expect(readPublicId('CABC-12')).toEqual({ tokenAddress: 'CABC', index: 12 });
  for (const text of ['CABC', 'CABC-01', 'CABC-1234567890', '../x-1', 'C-1-2', '']) {
    expect(readPublicId(text)).toBeNull();
  }
});

it('shows a period with its last day, as people say it', () => {
  expect(periodText({ from: '2025-01-01', until: '2026-01-01' })).toBe('2025-01-01 to 2025-12-31');
  expect(periodText({ from: '2024-02-29', until: '2024-03-01' })).toBe('2024-02-29');
});

it('shows amounts and times exactly, and those that no calendar has', () => {
  expect(grouped('1234567.5')).toBe('1\u{202f}234\u{202f}567.5');
  expect(sumOf(['0.1', '0.2', '-0.3', '12'])).toBe('12');
  expect([sumOf(['-12', '-0.5']), sumOf(['10']), sumOf([])]).toEqual(['-12.5', '10', '0']);
  expect(isoOf(9e15)).toBe('1970-01-01T00:00:00.000Z');
});

describe('the network’s word', () => {
  const record = {
    tokenAddress: 'C',
    index: 0,
    retiredBy: 'G',
    amount: '5',
    timestamp: 7,
    beneficiary: 'A',
    note: '',
  };
  const check = (ask: Parameters<typeof checkOnNetwork>[1]) => checkOnNetwork(pageSite(), ask, record);
  const answer = (onNetwork: unknown) => async () => ({ data: { retirementRecord: { onNetwork } } });
  const failure = (code: string) => async () => ({
    data: null,
    errors: [new GraphQLError('no', { extensions: { code } })],
  });

  it('has four outcomes: the same, another, none, no answer', async () => {
    expect(await check(answer(record))).toMatchObject({ outcome: 'SAME' });
    expect(await check(answer({ ...record, beneficiary: 'B', amount: '6' }))).toMatchObject({
      outcome: 'DIFFERENT',
      fields: ['beneficiary', 'amount'],
    });
    for (const change of [{ timestamp: 8 }, { note: 'B' }, { retiredBy: 'H' }]) {
      expect(await check(answer({ ...record, ...change }))).toMatchObject({
        outcome: 'DIFFERENT',
        fields: Object.keys(change),
      });
    }
    expect(await check(answer(null))).toMatchObject({ outcome: 'MISSING' });
    expect(await check(failure('LEDGER_UNAVAILABLE'))).toMatchObject({ outcome: 'NO_ANSWER' });
    // All places for reading the network are taken. The page itself still has its place.
    expect(await check(failure('OVERLOADED'))).toMatchObject({ outcome: 'NO_ANSWER' });
  });

  it('is waited for no longer than a reader does', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const checked = check(() => new Promise(() => undefined));
      await vi.advanceTimersByTimeAsync(READER_WAITS_MS);
      expect(await checked).toMatchObject({ outcome: 'NO_ANSWER' });
    } finally {
      vi.useRealTimers();
    }
  });

  it('is not made up when the page itself is refused', async () => {
    await expect(check(failure('RATE_LIMITED'))).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  });
});

it('gives the commands of the network’s own tools', () => {
  const place = { tokenAddress: '0xabc', index: 3, txHash: '0xdef' };
  const evm = onEvm(place).map(({ command }) => command);
  expect(evm[0]).toContain("cast call 0xabc 'getRetirement(uint256)");
  expect(evm[2]).toContain('cast receipt 0xdef');
  const stellar = onStellar(place, "Some Network ; it's public").map(({ command }) => command);
  expect(stellar[0]).toContain(
    `--network-passphrase 'Some Network ; it'\\''s public' -- get_retirement --index 3`,
  );
  expect(stellar[1]).toContain('"hash":"def"');
});

const whole = {
  state: 'ACTIVE',
  quantityKg: '1000',
  remainingKg: '1000',
  beingCashedOut: false,
  pledged: false,
};

it('calls a receipt free only while it is valid, something of it is left, and there is no other claim to it', () => {
  const part = { ...whole, remainingKg: '600' };
  const cases: [typeof whole, string, boolean][] = [
    [whole, 'Valid, not pledged', true],
    [part, 'Valid, 600 kg of 1\u{202f}000 kg left, not pledged', true],
    [{ ...part, pledged: true }, 'Valid, 600 kg of 1\u{202f}000 kg left, pledged to a lender', false],
    [
      { ...part, beingCashedOut: true },
      'Valid, being cashed out, 600 kg of 1\u{202f}000 kg left, not pledged',
      false,
    ],
    [{ ...whole, remainingKg: '0' }, 'Cashed out, not pledged', false],
    [{ ...whole, remainingKg: '0', state: 'EXPIRED' }, 'Expired, cashed out, not pledged', false],
    [{ ...whole, state: 'REFUSED' }, 'Never issued, not pledged', false],
  ];
  for (const [receipt, text, free] of cases)
    expect([standingText(receipt), isFree(receipt)]).toEqual([text, free]);
});

it('calls a receipt expired once its date is over, hours before the nightly job writes it down', () => {
  const receipt = { ...whole, expiryDate: 2_000 };
  const at = (nowSeconds: bigint) => standingText(standingAt(receipt, nowSeconds));
  expect([at(2_000n), at(2_001n)]).toEqual(['Valid, not pledged', 'Expired, not pledged']);
  expect(isFree(standingAt(receipt, 2_001n))).toBe(false);
  expect(standingText(standingAt({ ...receipt, state: 'MINTING' }, 2_001n))).toBe(
    'Being issued, not pledged',
  );
});
