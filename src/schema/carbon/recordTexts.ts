/**
 * The texts of a retirement that its public record shows. Both ways of retiring take them: from the books,
 * and from a holder's own address.
 */
import { beneficiary, note } from '../core/text.ts';

export const BENEFICIARY = {
  required: true,
  validate: { schema: beneficiary },
  description:
    'The beneficiary on the public record: a text label, not an address. 1 to 256 bytes of UTF-8, without ' +
    'control, bidirectional, invisible or unassigned characters. Stored in NFC and without leading and trailing white ' +
    'space; filters also find the text as it was sent.',
} as const;

export const NOTE = {
  validate: { schema: note },
  description:
    'A remark on the public record: at most 1024 bytes of UTF-8, without control, bidirectional, invisible or unassigned ' +
    'characters, and therefore in one line. May be empty; null means the empty text. Stored in NFC and without ' +
    'leading and trailing white space.',
} as const;
