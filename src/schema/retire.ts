/**
 * retire: credits are burned for a beneficiary, for ever.
 */
import { readTransactions } from '../resolvers/findRetirement.ts';
import type { Retirement } from '../resolvers/findRetirement.ts';
import { retire } from '../resolvers/retire.ts';
import { forBuyerOrOperator } from './access.ts';
import { subjectOf } from './caller.ts';
import { IDEMPOTENCY_KEY } from './idempotency.ts';
import { hashOf } from './networkTransaction.ts';
import { builder } from './platform.ts';
import { RetirementRef } from './retirement.ts';
import { address, beneficiary, buyerId, idempotencyKey, note } from './text.ts';

const RetireInput = builder.inputType('RetireInput', {
  description: 'What a buyer retires, and for whom.',
  fields: (t) => ({
    buyerId: t.string({
      required: true,
      validate: { schema: buyerId },
      description: "The buyer: the subject of the buyer's token.",
    }),
    buyerName: t.string({
      required: true,
      validate: { schema: beneficiary },
      description:
        'The beneficiary on the public record: a label, not an address. 1 to 256 bytes of UTF-8, without control or ' +
        'bidirectional characters.',
    }),
    tokenAddress: t.string({
      required: true,
      validate: { schema: address },
      description: "The address of the project's token.",
    }),
    amountCO2e: t.field({ type: 'Tonnes', required: true, description: 'Whole tonnes CO2e.' }),
    note: t.string({
      required: true,
      defaultValue: '',
      validate: { schema: note },
      description: 'A remark on the public record: at most 1024 bytes of UTF-8; may be empty.',
    }),
    idempotencyKey: t.string({
      required: true,
      validate: { schema: idempotencyKey },
      description: IDEMPOTENCY_KEY,
    }),
  }),
});

const RetirePayload = builder.objectRef<Retirement>('RetirePayload').implement({
  description: 'The retirement, in the state reached when the answer was given. It goes on by itself.',
  fields: (t) => ({
    txHash: t.string({
      nullable: true,
      description: 'The hash of the burn; null while none is signed.',
      resolve: async ({ id, txHash }, _args, { dependencies }) =>
        txHash ?? hashOf(await readTransactions(dependencies, id), 'retire'),
    }),
    retirement: t.field({
      type: RetirementRef,
      description: 'The retirement: RETIRED, or PENDING or NEEDS_REVIEW with the credits held.',
      resolve: (retirement) => retirement,
    }),
  }),
});

builder.mutationField('retire', (t) =>
  t.field({
    ...forBuyerOrOperator(
      (args: { input: { buyerId: string } }) => args.input.buyerId,
      "Retires a buyer's credits: holds them in the books, burns them on the network, and waits for its word up to a " +
        'limit. Errors: NOT_FOUND, INSUFFICIENT_BALANCE (nothing is burned), IDEMPOTENCY_CONFLICT, LEDGER_REJECTED (the ' +
        'credits are back).',
    ),
    type: RetirePayload,
    args: { input: t.arg({ type: RetireInput, required: true, description: 'What is retired, for whom.' }) },
    resolve: (_root, { input }, { caller, dependencies }) => retire(dependencies, subjectOf(caller), input),
  }),
);
