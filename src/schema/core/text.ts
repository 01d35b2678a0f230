/**
 * The rules for text in inputs, as zod schemas: for texts that reach the books, the network and the public
 * feed.
 *
 * Each message is the end of a sentence that begins with the field's name ("input.note must be …").
 */
import * as z from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { ROLES, SUBJECT_FORM, SUBJECT_PATTERN } from '../../identity/roles.ts';
import { SESSION_ID_PATTERN } from '../../ramp/port.ts';

/** A text rule: takes a string and returns it normalised. */
type TextRule = z.ZodType<string, string>;

/**
 * Characters that can't be seen, or that change how their neighbours are shown: control characters, line
 * and paragraph separators, bidi marks, overrides and isolates, zero-width and filler characters,
 * interlinear and tag characters, and halves of surrogate pairs. Also characters that Unicode has not assigned:
 * a later version may change their letter case or normal form, and so what was stored or hashed of a text.
 */
const HIDDEN_CHARACTER =
  /[\p{Cc}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u{ad}\u{61c}\u{115f}\u{1160}\u{180e}\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2060}-\u{206f}\u{2800}\u{3164}\u{feff}\u{ffa0}\u{fff0}-\u{fffb}\u{e0000}-\u{e0fff}]/u;

const ARABIC_LETTER = String.raw`(?=\p{Script=Arabic})\p{L}`;
/** Letters that never join the next letter (Unicode's ArabicShaping.txt). */
const RIGHT_JOINING = String.raw`\u{622}-\u{625}\u{627}\u{629}\u{62f}-\u{632}\u{648}\u{671}-\u{673}\u{675}-\u{677}\u{688}-\u{699}\u{6c0}\u{6c3}-\u{6cb}\u{6cd}\u{6cf}\u{6d2}\u{6d3}\u{6d5}\u{6ee}\u{6ef}`;
const INDIC_LETTER = String.raw`(?=[\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Myanmar}\p{Script=Khmer}])\p{L}`;
const NUKTA = String.raw`[\u{93c}\u{9bc}\u{a3c}\u{abc}\u{b3c}]`;
/** The signs that remove a consonant's vowel: of canonical combining class 9. */
const VIRAMA = String.raw`[\u{94d}\u{9cd}\u{a4d}\u{acd}\u{b4d}\u{bcd}\u{c4d}\u{ccd}\u{d4d}\u{dca}\u{1039}\u{17d2}]`;
/**
 * Joiners that are part of the spelling: between Arabic letters, after a virama (RFC 5892, appendices A.1 and
 * A.2), and within emoji sequences. Each lookbehind begins at a joiner and has a limit, so that no text takes
 * long.
 */
const SPELLED_JOINERS = [
  new RegExp(String.raw`\u{200c}(?<=${ARABIC_LETTER}\p{M}{0,3}\u{200c})(?=${ARABIC_LETTER})`, 'gu'),
  new RegExp(String.raw`[\u{200c}\u{200d}](?<=${INDIC_LETTER}${NUKTA}?${VIRAMA}[\u{200c}\u{200d}])`, 'gu'),
  new RegExp(String.raw`\p{RGI_Emoji_ZWJ_Sequence}`, 'gv'),
];
/** Between letters that do not join anyway, a joiner is invisible: texts that look the same would differ. */
const UNSEEN_JOINER = new RegExp(
  String.raw`\u{200c}(?<=[${RIGHT_JOINING}]\p{M}{0,3}\u{200c})(?=${ARABIC_LETTER})`,
  'gu',
);

/**
 * Text for people: NFC, without white space around it, without hidden characters, limited in UTF-8 bytes
 * because contracts and columns count bytes.
 */
function text(options: { maxBytes: number; mayBeEmpty?: boolean }): TextRule {
  return z.string().transform((raw, context) => {
    const value = normalize(raw);
    const problem = lengthProblem(value, options) ?? problemOf(raw.normalize('NFC'));
    if (problem === undefined) return value;
    context.addIssue({ code: 'custom', message: problem });
    return z.NEVER;
  });
}

function normalize(raw: string): string {
  return raw.normalize('NFC').replaceAll(UNSEEN_JOINER, '').trim();
}

function problemOf(raw: string): string | undefined {
  // Most texts have no hidden character, not even a joiner.
  if (!HIDDEN_CHARACTER.test(raw)) return undefined;
  const rest = SPELLED_JOINERS.reduce((text, joiner) => text.replaceAll(joiner, ''), raw);
  const hidden = HIDDEN_CHARACTER.exec(rest)?.[0];
  if (hidden === undefined) return undefined;
  const code = hidden.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return `must not contain control, bidirectional, invisible or unassigned characters, but has U+${code}`;
}

function lengthProblem(
  value: string,
  options: { maxBytes: number; mayBeEmpty?: boolean },
): string | undefined {
  if (value === '' && options.mayBeEmpty !== true) return 'must not be empty';
  const byteLength = Buffer.byteLength(value);
  if (byteLength <= options.maxBytes) return undefined;
  return `must be at most ${options.maxBytes} bytes as UTF-8, but has ${byteLength}`;
}

/** The beneficiary of a retirement; written to the network and public. */
export const beneficiary = text({ maxBytes: 256 });
/** An id in a public register; as public as the beneficiary. */
export const beneficiaryId = text({ maxBytes: 128 });
/** A verification body's reference of 128 bytes and a year. */
export const assetId = text({ maxBytes: 140 });
/** The serial number of a retired tonne: an asset id (128 bytes and a year) and a number. */
export const serialNumber: TextRule = text({ maxBytes: 160 }).refine((serial) => /.-\d{6,19}$/.test(serial), {
  error: 'must be a serial number, such as VCS-1-2024-000041',
});
/** A retirement's remark; written to the network. */
export const note = text({ maxBytes: 1024, mayBeEmpty: true });
/** The reason of an operator's decision; kept with the decision. */
export const reason = text({ maxBytes: 512 });
/** The purpose of a transfer of credits; kept in the books. */
export const memo = text({ maxBytes: 512 });
/** Names, references, types and places in a token's metadata. */
export const label = text({ maxBytes: 128 });

/** Compared byte by byte, so only characters that no normalisation changes are accepted. */
export const idempotencyKey: TextRule = pattern(
  /^[\x20-\x7e]{1,255}$/,
  'must be 1 to 255 printable ASCII characters',
);

/** The subject of a token, which names buyers, farmers, lenders and warehouses. */
export const subject: TextRule = pattern(SUBJECT_PATTERN, `must be ${SUBJECT_FORM}`);
/** A ramp provider's name of a session. */
export const sessionId: TextRule = pattern(
  SESSION_ID_PATTERN,
  'must be 1 to 200 printable ASCII characters without spaces, and not . or ..',
);
/** A wallet's answer in the network's own encoding. The longest contain texts of a kilobyte, as base64. */
export const signedTransaction: TextRule = pattern(
  /^[A-Za-z0-9+/=_-]{1,32768}$/,
  'must be 1 to 32768 characters of base64 or hexadecimal digits',
);

/** A text that is looked up unchanged: a code, a name of a field, an id. */
export const keyword: TextRule = pattern(
  /^[\x21-\x7e]{1,128}$/,
  'must be 1 to 128 printable ASCII characters without spaces',
);

/** On every network the hash of a transaction is of 32 bytes; not all print it with 0x. */
export const transactionHash: TextRule = pattern(
  /^(0x)?[0-9a-f]{64}$/i,
  'must be a transaction hash: 64 hexadecimal digits, with or without 0x',
);

/** A text that an audit entry names, or a global id that contains it. */
export const auditTarget: TextRule = pattern(
  /^[\x21-\x7e]{1,256}$/,
  'must be 1 to 256 printable ASCII characters without spaces',
);

/** The warehouses of one key. */
export const idList = z.array(subject).max(100, { error: 'must be at most 100 ids' });

/**
 * Beneficiaries are looked up as they are given, because other holders write names freely, and as this
 * platform writes them.
 */
export const beneficiaryList = z
  .array(
    z.string().refine((name) => name.length <= 1024 && !name.includes('\u0000'), {
      error: 'must be at most 1024 characters, none of them NUL',
    }),
  )
  .max(20, { error: 'must be at most 20 beneficiaries' })
  .transform((names) => [...new Set(names.flatMap((name) => [name, normalize(name)]))]);

/** The roles of one key. */
export const roleList = z
  .array(z.enum(ROLES))
  .min(1, { error: 'must name at least one role' })
  .max(ROLES.length, { error: 'must name each role once at most' });

/** The first voluntary carbon credits are from the early nineties. */
const FIRST_VINTAGE = 1990;

/** A vintage may be sold one year ahead of the current one (UTC). */
export function vintageYear(clock: Clock): z.ZodType<number, number> {
  return z.number().superRefine((year, context) => {
    const last = clock.now().getUTCFullYear() + 1;
    if (Number.isInteger(year) && year >= FIRST_VINTAGE && year <= last) return;
    context.addIssue({ code: 'custom', message: `must be a year from ${FIRST_VINTAGE} to ${last}` });
  });
}

function pattern(form: RegExp, message: string): TextRule {
  return z.string().regex(form, { error: message });
}
