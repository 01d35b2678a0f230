/**
 * What fields have in common: the argument of a mutation, the members of its input that mean the same in each,
 * the payload that is one object, and the argument that is an object's id.
 *
 *   args: inputOf(PurchaseInput, 'The credits to buy, and the buyer.')
 *   idempotencyKey: t.string(IDEMPOTENCY_KEY), dryRun: t.boolean(DRY_RUN), reason: t.string(DECISION_REASON)
 *   type: payloadOf('RevokeApiKeyPayload', 'The revoked key.', { apiKey: { type: ApiKeyRef, description: … } })
 */
import type { InputType, ObjectRef } from '@pothos/core';
import type * as z from 'zod';
import { builder, type ContractTypes } from './builder.ts';
import { idempotencyKey, reason } from './text.ts';

export function inputOf<Type extends InputType<ContractTypes>>(type: Type, description: string) {
  return builder.args((t) => ({ input: t.field({ type, required: true, description }) }));
}

/** A member with a rule beyond its type's: `t.string(required(label, 'The kind of credit, such as VCU.'))`. */
export function required<Value>(schema: z.ZodType<Value, Value>, description: string) {
  return { required: true, validate: { schema }, description } as const;
}

/** The same, for a member that may be left out. */
export function optional<Value>(schema: z.ZodType<Value, Value>, description: string) {
  return { validate: { schema }, description };
}

/** The argument of a field that reads one object. */
export function idOf<Shown>(type: ObjectRef<ContractTypes, Shown>, noun: string) {
  const description = `The \`id\` of the ${noun}.`;
  return builder.args((t) => ({ id: t.globalID({ for: type, required: true, description }) }));
}

/** The payload of a mutation whose resolver returns one object: its one member is that object. */
export function payloadOf<Value>(
  name: string,
  description: string,
  members: Record<string, { type: ObjectRef<ContractTypes, Value>; description: string; nullable?: boolean }>,
) {
  return builder.objectRef<Value>(name).implement({
    description,
    fields: (t) =>
      Object.fromEntries(
        Object.entries(members).map(([member, field]) => [
          member,
          t.field({ ...field, resolve: (value) => value as never }),
        ]),
      ),
  });
}

/** The member of a payload whose object a dry run or an approval may leave out, now or in a later version. */
export function resultOf<Value>(type: ObjectRef<ContractTypes, Value>, what: string) {
  return { type, nullable: true, description: `${what} Null only if the mutation was not carried out.` };
}

export const IDEMPOTENCY_KEY = {
  required: true,
  validate: { schema: idempotencyKey },
  description:
    'A key chosen by the client, such as a UUID: 1 to 255 printable ASCII characters. The same key with the ' +
    'same input returns the same result without a second effect. The same key with a different input returns ' +
    'IDEMPOTENCY_CONFLICT. A key whose request had an effect is kept permanently.',
} as const;

/** For each mutation that takes an amount from what may not have enough: a balance, a supply, a cap or a quote. */
export const DRY_RUN = {
  // Null is refused: a client whose variable is null by mistake would run the mutation for real.
  required: true,
  defaultValue: false,
  description:
    'Whether to make every check and change nothing. The response describes the effect that the mutation would ' +
    'have, or contains the error that it would return. The `idempotencyKey` is neither checked nor used up. ' +
    'Concurrent changes can still alter the outcome of the real mutation.',
} as const;

/** The description of every payload's `dryRun`. */
export const DRY_RUN_ANSWER = 'The effect that the mutation would have. Null unless `dryRun` is true.';

/** The reason of an operator's decision. */
export const DECISION_REASON = {
  required: true,
  validate: { schema: reason },
  description: 'The reason for the decision, stored with it: 1 to 512 bytes of UTF-8.',
} as const;

/** The `reviewVersion` of an operator's decision. */
export const SEEN_REVIEW_VERSION = {
  required: true,
  description:
    'The `reviewVersion` on which the decision is based. CONFLICT when it has changed since: read the object again, ' +
    'then decide.',
} as const;
