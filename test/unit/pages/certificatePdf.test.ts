/**
 * The text of a certificate in print.
 */
import { inflateSync } from 'node:zlib';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { CertificateRecord, NetworkCheck } from '../../../src/pages/certificateRecord.ts';
import { createCertificatePdf } from '../../../src/pages/certificatePdf.ts';
import type { Inclusion } from '../../../src/pages/inclusion.ts';
import { visualLines } from '../../../src/pages/visualOrder.ts';
import { CERTIFICATE_RECORD } from '../../support/certificateRecord.ts';
import { pageSite } from '../../support/pageSite.ts';

/** Points from the top of a page, and of the squares. */
const [PAGE_END, SQUARES] = [841.89 - 56, 96];

it('prints text that is written from right to left in its order, with what is written from left to right in it', () => {
  const [a, b, c] = ['\u{627}\u{628}', '\u{5d0}\u{5d1}', '\u{629}'];
  const lines = (text: string, width = 100) =>
    visualLines(text, (line) => line.length <= width).map((pieces) => pieces.join(''));
  expect(lines(`${a} ${b} ${c}`)).toEqual([`${c} ${b} ${a}`]);
  expect(lines(`Acme ${a} ${b} Ltd`)).toEqual([`Acme ${b} ${a} Ltd`]);
  expect(lines(`${a} ${b} Acme Ltd 2024 ${c}`)).toEqual([`${c} Acme Ltd 2024 ${b} ${a}`]);
  expect(lines(`${a} 1,200.5 ${b}`)).toEqual([`${b} 1,200.5 ${a}`]);
  expect(lines(`${a} (${b}) 12${c}-Acme`)).toEqual([`Acme-${c}12 (${b}) ${a}`]);
  expect(lines('Acme 12 (Ltd)')).toEqual(['Acme 12 (Ltd)']);
  // The first words, in reading order, are on the first line.
  expect(lines(`${a} ${b} ${c}`, 5)).toEqual([`${b} ${a}`, c]);
  expect(lines(`${a.repeat(2)} ${b}`, 3)).toEqual(['\u{627}\u{628}\u{627}', '\u{628}', b]);
});

async function made(
  facts: Partial<CertificateRecord>,
  check: NetworkCheck = { outcome: 'SAME', checkedAt: 7 },
  inclusion: Inclusion = { outcome: 'NOT_YET' },
  chargeCpu: (ms: number) => void = () => undefined,
): Promise<Buffer> {
  const makePdf = createCertificatePdf(pageSite());
  const record = { ...CERTIFICATE_RECORD, ...facts };
  const { body } = await makePdf({ record, inclusion, check }, { addressKey: 'a', chargeCpu });
  return Buffer.from(body);
}

async function printed(...about: Parameters<typeof made>): Promise<string[]> {
  return printedLines(await made(...about));
}

it('has a name that is written from right to left in its order, and a note that has one', async () => {
  const lines = await printed({ beneficiary: 'אב גד 12', note: 'for הו זח Ltd' });
  expect(lines).toContain('12 דג בא');
  expect(lines).toContain('Note for חז וה Ltd');
});

it('parts no letter where it parts a word that no line has room for', async () => {
  const [name, note] = ['𝕏'.repeat(101), `a${'𝔸'.repeat(200)}`];
  const text = (await printed({ beneficiary: name, note })).join('');
  expect([text.match(/𝕏/g)?.length, text.match(/𝔸/g)?.length]).toEqual([101, 200]);
});

it('says that the network contradicts it, as the page does, and nothing of a network that confirms it', async () => {
  const saying = async (check: NetworkCheck) => (await printed({}, check)).join(' ');
  for (const outcome of ['SAME', 'NO_ANSWER'] as const) {
    expect(await saying({ outcome, checkedAt: 7 })).not.toMatch(/rely on this certificate|Asked at/);
  }
  const missing = await saying({ outcome: 'MISSING', checkedAt: 7 });
  expect(missing).toMatch(/The network has no such record.*Don’t rely on this certificate/);
  const other = await saying({ outcome: 'DIFFERENT', checkedAt: 7, fields: ['beneficiary'] });
  expect(other).toMatch(/The network’s record differs.*Don’t rely on this certificate/);
});

it('says of the public log what is known: that the entry comes later, or that the log could not be read', async () => {
  const saying = async (outcome: 'NOT_YET' | 'NO_ANSWER') =>
    (await printed({}, undefined, { outcome })).join(' ');
  expect(await saying('NOT_YET')).toContain('not in the log yet when this file was made');
  const unknown = await saying('NO_ANSWER');
  expect(unknown).toContain('the log could not be read when this file was made');
  expect(unknown).not.toContain('not in the log');
});

it('shows letters that its font lacks as replacements, in each text, and says so only then', async () => {
  const remark = 'Letters that this file’s font does not have';
  expect((await printed({})).join(' ')).not.toContain(remark);
  for (const facts of [{ beneficiary: '漢' }, { note: '漢' }]) {
    const text = (await printed(facts)).join(' ');
    expect(text).toContain(remark);
    expect(text.match(/\u{fffd}/gu)).toHaveLength(2);
  }
});

it('shows a text of another holder without what changes its surroundings, and not at any length', async () => {
  const bidi = '\u{202e}';
  const lines = await printed({
    beneficiary: `${bidi}${'B'.repeat(10_000)}`,
    note: `${bidi}${'N'.repeat(10_000)}`,
  });
  const text = lines.join('');
  expect(text).not.toContain(bidi);
  expect([text.match(/B{2,}/g)?.join('').length, text.match(/N{2,}/g)?.join('').length]).toEqual([
    398, 1_198,
  ]);
});

it('prints no name of a fact that the record lacks, and each that it has', async () => {
  expect((await printed({})).filter((line) => /^(Note|Beneficiary’s id|Claimed in)/.test(line))).toEqual([]);
  const lines = await printed({ note: 'for all', beneficiaryId: 'B-1', jurisdiction: 'KE' });
  expect(lines).toEqual(expect.arrayContaining(['Note for all', 'Beneficiary’s id B-1', 'Claimed in Kenya']));
});

it.each([
  [1, 0, [/^certificate\.json/]],
  [1, 1_200, [/^Public log/, /^certificate\.json/]],
  [364, 1_200, [/^Base units 5$/, /^certificate\.json/]],
  [397, 1_200, [/^Burned from G$/, /^certificate\.json/]],
])(
  'ends its pages between two facts, and before the squares with their address: %i, %i',
  async (nameLength, noteLength, ends) => {
    const pages = printedPages(
      await made({ beneficiary: 'W'.repeat(nameLength), note: 'W'.repeat(noteLength) }),
    );
    expect(pages.map(({ lines }) => lines.at(-1))).toEqual(ends.map((end) => expect.stringMatching(end)));
    const facts = ['Record index 0', 'Transaction not known yet', 'Burned from G', 'Base units 5'];
    expect(pages.flatMap(({ lines }) => lines)).toEqual(expect.arrayContaining(facts));
    expect(pages.at(-1)?.squaresFrom).toBeLessThan(PAGE_END - SQUARES);
    expect(pages.at(-1)?.lines).toContain('https://api.example/retirements/C-0');
  },
);

it('is the same file of the same facts, whenever it is made', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const first = await made({});
  vi.setSystemTime(1_100_000_000_000);
  expect((await made({})).equals(first)).toBe(true);
});

it('charges its reader for the computing that it takes', async () => {
  const charged: number[] = [];
  await made({}, undefined, undefined, (ms) => void charged.push(ms));
  expect(charged).toEqual([expect.any(Number)]);
  expect(charged[0]).toBeGreaterThan(0);
});

it('names the one serial number of one tonne once', async () => {
  const first = 'VCS-1-2024-000004';
  const lines = async (last: string) =>
    (await printed({ serialRange: { first, last } })).filter((line) => line.startsWith('Serial numbers'));
  expect(await lines(first)).toEqual([`Serial numbers ${first}`]);
  expect(await lines('VCS-1-2024-000005')).toEqual([`Serial numbers ${first} to VCS-1-2024-000005`]);
});

/** The printed text in the order of a reader: glyphs from left to right, lines from top to bottom. */
function printedLines(pdf: Buffer): string[] {
  return printedPages(pdf).flatMap(({ lines }) => lines);
}

function printedPages(pdf: Buffer): { lines: string[]; squaresFrom: number | undefined }[] {
  const streams = Array.from(
    pdf.toString('latin1').matchAll(/FlateDecode\n>>\nstream\n(.*?)\nendstream/gs),
    ([, text = '']) => inflateSync(Buffer.from(text, 'latin1')).toString('latin1'),
  );
  const fonts = streams.filter((text) => text.includes('beginbfrange'));
  // The bold font has only the characters of the amount.
  const [regular] = fonts.toSorted((one, other) => other.length - one.length);
  const named = regular?.match(/(?<=\[).*?(?=\])/gs) ?? [];
  // A glyph of several letters lists their codes one after the other.
  const letters = Array.from(named.join(' ').matchAll(/<([0-9a-f ]+)>/g), ([, codes = '']) =>
    codes
      .split(' ')
      .map((code) => String.fromCodePoint(Number.parseInt(code, 16)))
      .join(''),
  );
  return streams
    .filter((text) => text.includes(' Tm'))
    .map((page) => ({
      lines: linesOf(page, letters),
      squaresFrom: Number(/1 0 0 1 56 (\S+) cm/.exec(page)?.[1]),
    }));
}

function linesOf(page: string, letters: readonly string[]): string[] {
  const lines = new Map<number, { x: number; text: string }[]>();
  for (const [, x, y, shown = ''] of page.matchAll(/1 0 0 1 (\S+) (\S+) Tm.*?\[(.*?)\] TJ/gs)) {
    const glyphs = shown.match(/(?<=<)[0-9a-f]+(?=>)/g)?.join('') ?? '';
    const text = (glyphs.match(/.{4}/g) ?? []).map((glyph) => letters[Number.parseInt(glyph, 16)]).join('');
    const line = lines.get(Number(y)) ?? [];
    lines.set(Number(y), [...line, { x: Number(x), text }]);
  }
  return Array.from(lines.values(), (parts) =>
    parts
      .sort((one, other) => one.x - other.x)
      .map(({ text }) => text.trim())
      .filter((text) => text !== '')
      .join(' '),
  );
}

it('is made for each address in its turn, however many another one waits for', async () => {
  const makePdf = createCertificatePdf(pageSite());
  const served: string[] = [];
  const ask = async (addressKey: string) => {
    await makePdf(
      {
        record: CERTIFICATE_RECORD,
        inclusion: { outcome: 'NOT_YET' },
        check: { outcome: 'SAME', checkedAt: 7 },
      },
      { addressKey, chargeCpu: () => void served.push(addressKey) },
    );
  };
  const greedy = Array.from({ length: 21 }, () => ask('greedy'));
  await Promise.all([ask('modest'), Promise.allSettled(greedy)]);
  expect(served.indexOf('modest')).toBeLessThan(3);
});
