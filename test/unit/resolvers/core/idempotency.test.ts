import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { postingKeyOf, type IdempotentRequest } from '../../../../src/resolvers/core/idempotency.ts';

const hashOf = (input: IdempotentRequest['input']) =>
  postingKeyOf({ callerSubject: 'b1', operation: 'purchase', key: 'k', input }).inputHash;

describe('the hash of an input', () => {
  const input = { tokenAddress: 'T', amountCO2e: 1n, buyerId: 'b1' };

  it('is of its members by name, as reconciliations calculate it in SQL', () => {
    const canonical = '[["amountCO2e","bigint","1"],["buyerId","string","b1"],["tokenAddress","string","T"]]';
    expect(hashOf(input)).toBe(createHash('sha256').update(canonical).digest('hex'));
  });

  it('is the same when a member is null as when it is left out, so one that is added later changes no older hash', () => {
    expect(hashOf({ ...input, memo: null, reason: undefined })).toBe(hashOf(input));
  });

  it.each([
    ['another value', { ...input, buyerId: 'b2' }],
    ['another type', { ...input, amountCO2e: '1' }],
    ['an empty text', { ...input, memo: '' }],
    ['the text "null"', { ...input, memo: 'null' }],
  ])('is another one for %s', (_what, other) => {
    expect(hashOf(other)).not.toBe(hashOf(input));
  });
});
