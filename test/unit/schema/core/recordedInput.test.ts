/** Each mutation declares which input goes to the audit log and to the log; none can be built without. */
import { OperationTypeNode } from 'graphql';
import { describe, expect, it } from 'vitest';
import { describeVariables, shownNames } from '../../../../src/http/graphql/describeOperation.ts';
import { createBuilder } from '../../../../src/schema/core/createBuilder.ts';
import type { RecordedInput } from '../../../../src/schema/core/recordedInput.ts';
import { schema } from '../../../../src/schema/index.ts';

const REASON = 'giving twice does no harm';

function schemaWith(
  recordedInput: RecordedInput | undefined,
  { key = false, safeWithoutKey = REASON }: { key?: boolean; safeWithoutKey?: string } = {},
) {
  const builder = createBuilder<object>();
  const input = builder.inputType('GiveInput', {
    fields: (t) => ({
      to: t.string({ required: true }),
      note: t.string(),
      ...(key ? { idempotencyKey: t.string() } : {}),
    }),
  });
  builder.queryType({
    fields: (t) => ({ hello: t.string({ authScopes: { public: true }, resolve: () => 'world' }) }),
  });
  builder.mutationType({
    fields: (t) => ({
      give: t.string({
        args: { input: t.arg({ type: input, required: true }), times: t.arg.int() },
        authScopes: { public: true },
        recordedInput: recordedInput as RecordedInput,
        safeWithoutKey,
        resolve: () => 'given',
      }),
    }),
  });
  return builder.toSchema();
}

describe('recordedInput', () => {
  it.each([
    ['that is not there', undefined, 'lacks to, lacks note, lacks times'],
    ['that forgets a field', { targets: ['to'], shown: ['times'] }, 'lacks note'],
    [
      'that has a misspelt name',
      { targets: ['to'], shown: ['times'], hidden: ['note', 'nite'] },
      'names nite',
    ],
    ['that says two things', { targets: ['to'], shown: ['times', 'note'], hidden: ['note'] }, 'names note'],
  ])('%s fails the build of the schema', (_what, recordedInput, complaint) => {
    expect(() => schemaWith(recordedInput)).toThrow(`recordedInput of Mutation.give ${complaint}`);
  });

  it('fails the build of a mutation that has neither an idempotency key nor a reason, or both', () => {
    const declared = { targets: ['to'], shown: ['times'], hidden: ['note'] };
    const withKey = { ...declared, shown: ['times', 'idempotencyKey'] };
    expect(() => schemaWith(declared, { safeWithoutKey: '' })).toThrow('not neither');
    expect(() => schemaWith(withKey, { key: true })).toThrow('not both');
    expect(() => schemaWith(withKey, { key: true, safeWithoutKey: '' })).not.toThrow();
    expect(() => schemaWith(declared)).not.toThrow();
  });

  it('shows what all mutations of an operation declare as shown, and nothing else', () => {
    const one = shownNames(schema, OperationTypeNode.MUTATION, ['retire', '__typename']);
    const facts = ['buyerId', 'tokenAddress', 'amountCO2e', 'jurisdiction', 'reason', 'period', 'dryRun'];
    expect(one).toEqual(new Set([...facts, 'idempotencyKey']));
    const both = shownNames(schema, OperationTypeNode.MUTATION, ['retire', 'prepareRetirement']);
    expect(both).toEqual(new Set(['tokenAddress', 'amountCO2e', 'idempotencyKey']));
    expect(describeVariables({ input: { buyerId: 'acme', buyerName: 'Jane' } }, one)).toEqual({
      input: { buyerId: 'acme', buyerName: '[text of 4]' },
    });
  });
});
