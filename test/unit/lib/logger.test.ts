/**
 * Logs never hold confidential data: neither in fields, by their name, nor in the errors of a database.
 */
import { DrizzleQueryError } from 'drizzle-orm/errors';
import { expect, it } from 'vitest';
import { createLogger } from '../../../src/lib/logger.ts';

function logged(fields: object, level: 'warn' | 'error' = 'error'): Record<string, unknown> {
  const lines: string[] = [];
  createLogger({ level: 'info', pretty: false }, { write: (line) => lines.push(line) })[level](
    fields,
    'said',
  );
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain('hunter2');
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
}

it('redacts secrets and payout accounts by name', () => {
  const line = logged({ token: 'hunter2', request: { authorization: 'Bearer hunter2' }, buyerId: 'acme' });
  expect(line).toMatchObject({
    token: '[redacted]',
    request: { authorization: '[redacted]' },
    buyerId: 'acme',
    msg: 'said',
  });
});

it('says what an error is, also if it has a secret itself', () => {
  const error = Object.assign(new Error('refused'), { token: 'hunter2' });
  expect(logged({ err: error })).toMatchObject({ err: { type: 'Error', message: 'refused' } });
});

it('says which statement failed and why, without its values', () => {
  const cause = Object.assign(new Error('duplicate key'), {
    code: '23505',
    detail: 'Key (account)=(hunter2) already exists.',
    parameters: ['hunter2'],
  });
  const error = new DrizzleQueryError('insert into t values ($1)', ['a', 'hunter2'], cause);
  const line = logged({ err: error, error: error.message });
  expect(line).toMatchObject({
    error: 'Failed query: insert into t values ($1)',
    err: {
      message: 'Failed query: insert into t values ($1)',
      stack: expect.stringContaining('logger.test.ts'),
      cause: { message: 'duplicate key', code: '23505' },
    },
  });
});

it('shows the stack of an error, but not of a failure that passes', () => {
  const error = new Error('no answer', {
    cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
  });
  expect(logged({ err: error }, 'error')).toMatchObject({
    err: { stack: expect.stringContaining('logger.test.ts') as string },
  });
  expect(logged({ err: error, submissionId: '1' }, 'warn')).toMatchObject({ submissionId: '1', msg: 'said' });
  expect(logged({ err: error }, 'warn')['err']).toEqual({
    type: 'Error',
    message: 'no answer',
    cause: { type: 'Error', message: 'refused', code: 'ECONNREFUSED' },
  });
  expect(logged({ err: 'a text that was thrown' }, 'warn')['err']).toBe('a text that was thrown');
});

it('shows the stack of a defect at each level, and of no message more than a node may put into it', () => {
  expect(logged({ err: new TypeError('undefined has no id') }, 'warn')).toMatchObject({
    err: { stack: expect.stringContaining('logger.test.ts') as string },
  });
  const unreachable = new TypeError('fetch failed', { cause: new Error('x'.repeat(10_000)) });
  const { err } = logged({ err: unreachable }, 'warn') as {
    err: { stack?: string; cause: { message: string } };
  };
  expect(err.stack).toBeUndefined();
  expect(err.cause.message).toHaveLength(2_001);
});

it('ends a chain of causes that bites its own tail', () => {
  const error = new Error('round');
  error.cause = error;
  expect(logged({ err: error })).toMatchObject({ err: { message: 'round', cause: { message: 'round' } } });
});
