/**
 * Reads retirements from an indexer's delivery, in both body shapes that are in use:
 *
 *   the specification's   { eventType, data: { beneficiary, … } }          other fields of data not promised
 *   the deployed one's    { id, event: { id, contract, txHash, …, data: { topics, value } } }
 *                         with the value [amount, beneficiary, index, timestamp]
 *
 * The embedded indexer sends several events of the deployed shape in one delivery: { id, events: [event, …] }
 *
 * A retirement is recognised by its shape, never by the event type's name. Its content is a hint, never a
 * fact about the token.
 */
import * as z from 'zod';
import { parseJson } from '../lib/parseJson.ts';

export interface RetirementHint {
  /** The chain event's unique id, when the indexer sends it. */
  eventId: string | null;
  tokenAddress: string | null;
  recordIndex: number | null;
  txHash: string | null;
}

// PostgreSQL can't store a NUL, half a surrogate pair, or an index beyond 31 bits: every retry would fail.
const text = z
  .string()
  .min(1)
  .max(256)
  .refine((value) => !value.includes('\u0000') && value.isWellFormed());
const recordIndex = z.number().int().min(0).max(0x7fff_ffff);

const deployedEvent = z.object({
  id: text,
  contract: text,
  txHash: text,
  data: z.object({
    topics: z.array(z.unknown()).min(1).max(16),
    value: z
      .tuple([z.string().regex(/^\d{1,39}$/), z.string(), recordIndex, z.union([z.string(), z.number()])])
      .rest(z.unknown()),
  }),
});

const oneEvent = z.object({ event: z.unknown() });
export const MAX_EVENTS_PER_DELIVERY = 100;
const someEvents = z.object({ events: z.array(z.unknown()).max(MAX_EVENTS_PER_DELIVERY) });

/** Fields in which indexers of the specification's shape may name the retirement. All are optional. */
const specifiedShape = z.object({
  data: z.object({
    beneficiary: z.unknown(),
    contract: text.optional().catch(undefined),
    tokenAddress: text.optional().catch(undefined),
    index: recordIndex.optional().catch(undefined),
    retirementIndex: recordIndex.optional().catch(undefined),
    txHash: text.optional().catch(undefined),
  }),
});

/** @returns nothing when the body is not JSON or does not describe a retirement */
export function readRetirementHints(rawBody: Uint8Array): RetirementHint[] {
  const body = parseJson(new TextDecoder().decode(rawBody));
  const some = someEvents.safeParse(body);
  if (some.success) return some.data.events.flatMap((event) => hintOfEvent(event) ?? []);
  const one = oneEvent.safeParse(body);
  const hint = (one.success ? hintOfEvent(one.data.event) : null) ?? specifiedHint(body);
  return hint === null ? [] : [hint];
}

function hintOfEvent(event: unknown): RetirementHint | null {
  const deployed = deployedEvent.safeParse(event);
  if (!deployed.success) return null;
  const { id, contract, txHash, data } = deployed.data;
  return { eventId: id, tokenAddress: contract, recordIndex: data.value[2], txHash };
}

function specifiedHint(body: unknown): RetirementHint | null {
  const specified = specifiedShape.safeParse(body);
  if (!specified.success) return null;
  const { contract, tokenAddress, index, retirementIndex, txHash } = specified.data.data;
  return {
    eventId: null,
    tokenAddress: contract ?? tokenAddress ?? null,
    recordIndex: index ?? retirementIndex ?? null,
    txHash: txHash ?? null,
  };
}
