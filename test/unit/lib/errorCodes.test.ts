/**
 * docs/errors.md explains every code with the text of the program's table, and lists every detail.
 */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { ERROR_CODES, ERROR_DETAILS } from '../../../src/lib/errors.ts';

const text = await readFile(new URL('../../../docs/errors.md', import.meta.url), 'utf8');

it('documents every error code', () => {
  for (const [code, meaning] of Object.entries(ERROR_CODES)) {
    expect(text, code).toContain(`\`${code}\``);
    expect(text, `meaning of ${code}`).toContain(meaning);
  }
});

it('lists every detail in the table of details, and no other', () => {
  const rows = text.slice(text.indexOf('## Details')).matchAll(/^\| `[^|]*\|([^|]*)\|/gm);
  const listed = [...rows].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  );
  expect(new Set(listed)).toEqual(new Set([...ERROR_DETAILS, 'requestId']));
});

it('calls a refusal REFUSED alone, as the states of rows and the glossary do', () => {
  expect(Object.keys(ERROR_CODES).filter((code) => /REJECT|DENIED|DECLINE/.test(code))).toEqual([]);
});
