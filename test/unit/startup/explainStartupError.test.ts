/**
 * The sentences for failures of the system: each says what to change.
 */
import { expect, it } from 'vitest';
import { explainStartupError } from '../../../src/startup/explainStartupError.ts';

const failure = (code: string, about: object) =>
  Object.assign(new Error(`${code}: it failed`), { code, ...about });

it.each([
  ['ENOTFOUND', { syscall: 'getaddrinfo' }, /^HOST is not an address of this machine/],
  ['EAI_AGAIN', { syscall: 'getaddrinfo' }, /^HOST is not an address of this machine/],
  [
    'ENOSPC',
    { syscall: 'write', path: '/data/x' },
    /^\/data\/x is on a disk without space left .*Set DATA_DIR/,
  ],
  [
    'EDQUOT',
    { syscall: 'write', path: '/data/x' },
    /^\/data\/x is on a disk without space left .*Set DATA_DIR/,
  ],
  ['ENOENT', { syscall: 'mkdir', path: '/data/x' }, /^\/data\/x can not be made.*Set DATA_DIR/],
])('explains %s of %o', (code, about, sentence) => {
  expect(explainStartupError(failure(code, about))).toMatch(sentence);
});

it('takes a missing file of the program for a defect', () => {
  expect(explainStartupError(failure('ENOENT', { syscall: 'open', path: '/app/x.sql' }))).toBeNull();
});
