import { expect, it } from 'vitest';
import { spellingKey } from '../../../../src/resolvers/core/spellingKey.ts';

it.each([
  ['letter case', 'vcs-1764-2024'],
  ['white space', ' VCS-1764-2024\u3000'],
  ['full-width forms, as Chinese and Japanese keyboards write them', 'ＶＣＳ－１７６４－２０２４'],
  ['hyphens of word processors', 'VCS–1764‑2024'],
  ['a minus sign', 'VCS−1764-2024'],
  ['characters that can’t be seen', 'VCS\u034f-17\ufe0f64-20\u200b24'],
])('is the same whatever the %s', (_what, spelling) => {
  expect(spellingKey(spelling)).toBe('vcs-1764-2024');
});

it.each(['VCS-1764-2025', 'VCS-17 64-2024', 'VCS1764-2024', 'ВCS-1764-2024'])(
  'is another one of another text: %s',
  (text) => {
    expect(spellingKey(text)).not.toBe('vcs-1764-2024');
  },
);

it('has one white space where there is any, and letters as they are composed', () => {
  expect(spellingKey('Cafe\u0301\u00a0 \tHuile')).toBe('café huile');
});

it('is its own key', () => {
  for (const text of ['İ-1', 'ẞ', 'ﬁ', '\u1e9b\u0323', 'K', 'Ⅷ']) {
    expect(spellingKey(spellingKey(text))).toBe(spellingKey(text));
  }
});
