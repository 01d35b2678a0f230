/**
 * Reads what an indexer's delivery says about a retirement, in both body shapes that are in use:
 *
 *   the specification's   { eventType, data: { beneficiary, … } }          other fields of data not promised
 *   the deployed one's    { id, event: { id, contract, txHash, …, data: { topics, value: [amount, beneficiary, index, timestamp] } } }
 *
 * A retirement is recognised by its shape, never by the event type's name. Nothing here is trusted as a fact
 * about the token: it only says where to look.
 */
import { z } from 'zod';

export interface RetirementHint {
  /** The chain event's unique id, when told. */
  eventId: string | null;
  tokenAddress: string | null;
  recordIndex: number | null;
  txHash: string | null;
  ledger: bigint | null;
}

// What PostgreSQL can't store would fail each time that it is tried: a NUL, and an index beyond 31 bits.
const text = z
  .string()
  .min(1)
  .max(256)
  .refine((value) => !value.includes('\u0000'));
const recordIndex = z.number().int().min(0).max(0x7fff_ffff);

const deployedShape = z.object({
  event: z.object({
    id: text,
    contract: text,
    txHash: text,
    ledger: z.number().int().min(0).optional(),
    data: z.object({
      topics: z.array(z.unknown()).min(1).max(16),
      value: z
        .tuple([z.string().regex(/^\d{1,39}$/), z.string(), recordIndex, z.union([z.string(), z.number()])])
        .rest(z.unknown()),
    }),
  }),
});

/** Names under which indexers of the specification's shape may say where the retirement is. All optional. */
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

/** @returns null when the body is not JSON or doesn't tell of a retirement. */
export function readRetirementHint(rawBody: Uint8Array): RetirementHint | null {
  const body = parseJson(rawBody);
  const deployed = deployedShape.safeParse(body);
  if (deployed.success) {
    const { id, contract, txHash, ledger, data } = deployed.data.event;
    return {
      eventId: id,
      tokenAddress: contract,
      recordIndex: data.value[2],
      txHash,
      ledger: ledger === undefined ? null : BigInt(ledger),
    };
  }
  const specified = specifiedShape.safeParse(body);
  // Own properties only: `beneficiary` on a prototype would say nothing.
  if (!specified.success || !Object.hasOwn((body as { data: object }).data, 'beneficiary')) return null;
  const { contract, tokenAddress, index, retirementIndex, txHash } = specified.data.data;
  return {
    eventId: null,
    tokenAddress: contract ?? tokenAddress ?? null,
    recordIndex: index ?? retirementIndex ?? null,
    txHash: txHash ?? null,
    ledger: null,
  };
}

function parseJson(rawBody: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(rawBody));
  } catch {
    return null;
  }
}
