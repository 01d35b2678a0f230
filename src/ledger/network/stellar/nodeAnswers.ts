/**
 * The schemas of a Stellar RPC node's answers, as far as this adapter reads them. They normalise fields that
 * nodes leave out, or spell in two ways (numbers as strings).
 */
import * as z from 'zod';

/** Nodes give some whole numbers as JSON numbers and some as decimal strings. */
const wholeNumber = z
  .union([z.int().min(0), z.string().regex(/^\d{1,19}$/)])
  .transform((value) => BigInt(value));
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? null);
const text = z.string();
const texts = z
  .array(text)
  .nullish()
  .transform((value) => value ?? []);

/**
 * A result of another form names no network. An answer without a result is refused, because it says nothing.
 */
export const networkAnswer = z.union([
  z.object({ passphrase: z.unknown(), protocolVersion: z.unknown().optional() }),
  z.json().transform(() => ({ passphrase: undefined })),
]);

export const transactionAnswer = z.object({
  status: z.enum(['SUCCESS', 'FAILED', 'NOT_FOUND']),
  latestLedger: wholeNumber,
  latestLedgerCloseTime: wholeNumber,
  oldestLedger: wholeNumber,
  ledger: optional(wholeNumber),
  envelopeXdr: optional(text),
  resultXdr: optional(text),
  resultMetaXdr: optional(text),
  diagnosticEventsXdr: texts,
  events: optional(z.object({ contractEventsXdr: optional(z.array(texts)) })),
});

export const transactionPageAnswer = z.object({
  transactions: z
    .array(
      z.object({
        ledger: wholeNumber,
        createdAt: wholeNumber,
        envelopeXdr: text,
      }),
    )
    .nullish()
    .transform((value) => value ?? []),
  latestLedger: wholeNumber,
  cursor: text,
});

export const simulationAnswer = z.object({
  latestLedger: wholeNumber,
  error: optional(text),
  events: texts,
  transactionData: optional(text),
  minResourceFee: optional(wholeNumber),
  results: z
    .array(z.object({ xdr: text, auth: texts }))
    .nullish()
    .transform((value) => value ?? []),
});

export const sendAnswer = z.object({
  status: z.enum(['PENDING', 'DUPLICATE', 'TRY_AGAIN_LATER', 'ERROR']),
  latestLedgerCloseTime: optional(wholeNumber),
  errorResultXdr: optional(text),
});

export const entriesAnswer = z.object({
  latestLedger: wholeNumber,
  entries: z
    .array(z.object({ key: text, xdr: text }))
    .nullish()
    .transform((value) => value ?? []),
});

export const feeStatsAnswer = z.object({
  sorobanInclusionFee: z.object({ p90: wholeNumber, max: wholeNumber }),
});

export const eventsAnswer = z.object({
  events: z
    .array(z.object({ value: text, txHash: text }))
    .nullish()
    .transform((value) => value ?? []),
  latestLedger: wholeNumber,
  /** The place in the network's order up to which the node has searched: its upper 32 bits are the ledger. */
  cursor: text.regex(/^\d{1,19}-\d{1,10}$/),
});
