/**
 * Relay connections over keyset pages: `first` or `last`, 1 to 100, the first 20 without either. Cursors are
 * checked before they reach the database, and a list is counted only for `totalCount`.
 */
import { resolveCursorConnection, type DefaultConnectionArguments } from '@pothos/plugin-relay';
import * as z from 'zod';
import type { KeysetCursor, PageSource } from '../../db/keyset.ts';
import { DomainError } from '../../lib/errors.ts';
import { MAX_WHOLE_UNITS } from '../../ledger/units.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../../lib/pageSizes.ts';
import { parseJson } from '../../lib/parseJson.ts';
import { showValue } from './showValue.ts';

/** The names of a list's connection and edge types, as the Relay plugin takes them. */
export function listNames<Name extends string>(name: Name) {
  return [{ name: `${name}Connection` }, { name: `${name}Edge` }] as const;
}

/** Writes and reads a list's cursors. */
interface CursorCodec<Cursor> {
  encode: (cursor: Cursor) => string;
  /** Undefined for a text that `encode` did not make. */
  decode: (text: string) => Cursor | undefined;
}

/** A page of a list. @throws DomainError BAD_USER_INPUT that names the wrong argument */
export async function pageOf<Item, Cursor>(
  asked: DefaultConnectionArguments,
  codec: CursorCodec<Cursor>,
  { list, cursorOf, count }: PageSource<Item, Cursor>,
) {
  const args = sized(asked);
  const after = readCursor('after', args.after, codec);
  const before = readCursor('before', args.before, codec);
  const toCursor = (item: unknown) => codec.encode(cursorOf(item as Item));
  const { edges, pageInfo } = await resolveCursorConnection(
    { args, maxSize: MAX_PAGE_SIZE, toCursor },
    ({ limit, inverted }): Promise<unknown[]> => list({ after, before, limit, inverted }),
  );
  // The plugin invents cursors for a page without items: "" is one that no list takes.
  const place = { startCursor: args.before ?? null, endCursor: args.after ?? null };
  return {
    edges: edges as { cursor: string; node: Item }[],
    pageInfo: edges.length > 0 ? pageInfo : { ...pageInfo, ...place },
    count,
  };
}

function sized(args: DefaultConnectionArguments): DefaultConnectionArguments {
  const { first, last } = args;
  if (first == null && last == null) return { ...args, first: DEFAULT_PAGE_SIZE };
  if (first != null && last != null) {
    throw new DomainError(
      'BAD_USER_INPUT',
      `Ask for a page with "first" or with "last", from 1 to ${MAX_PAGE_SIZE}, not with both.`,
      { field: 'last' },
    );
  }
  const field = first == null ? 'last' : 'first';
  const size = first ?? last ?? 0;
  if (size < 1 || size > MAX_PAGE_SIZE) {
    throw new DomainError('BAD_USER_INPUT', `${field} must be from 1 to ${MAX_PAGE_SIZE}; it is ${size}.`, {
      field,
    });
  }
  return args;
}

function readCursor<Cursor>(
  field: 'after' | 'before',
  text: string | null | undefined,
  codec: CursorCodec<Cursor>,
): Cursor | undefined {
  if (text == null) return undefined;
  const cursor = codec.decode(text);
  if (cursor !== undefined) return cursor;
  throw new DomainError(
    'BAD_USER_INPUT',
    `${field} must be a cursor that this list gave out in the same order; it is ${showValue(text)}.`,
    { field },
  );
}

/** Cursors of lists that are ordered by a moment or another value, and an id. */
export function keysetCursors(
  list: string,
  value: z.ZodType<string, string> = cursorValues.moment,
): CursorCodec<KeysetCursor> {
  return listCursors(list, { value, id: z.uuid() });
}

/** Cursors of lists that are ordered by one number or text. */
export function valueCursors<Value>(list: string, value: z.ZodType<Value, string>): CursorCodec<Value> {
  const { encode, decode } = listCursors<{ value: Value }>(list, { value });
  return { encode: (only) => encode({ value: only }), decode: (text) => decode(text)?.value };
}

/**
 * Cursors of lists that are ordered by several values: the cursor's members as text, in the order of
 * `members`. `list` keeps the cursors of two lists or orders apart.
 */
export function listCursors<Cursor extends object>(
  list: string,
  members: { [Name in keyof Cursor]: z.ZodType<Cursor[Name], string> },
): CursorCodec<Cursor> {
  const names = Object.keys(members) as (keyof Cursor)[];
  const shape = z.tuple([z.literal(list), ...names.map((name) => members[name])]);
  return {
    encode: (cursor) => encode([list, ...names.map((name) => String(cursor[name]))]),
    decode: (text) => {
      const [, ...values] = shape.safeParse(decode(text)).data ?? [];
      if (values.length === 0) return undefined;
      return Object.fromEntries(names.map((name, at) => [name, values[at]])) as Cursor;
    },
  };
}

function encode(parts: readonly string[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

function decode(text: string): unknown {
  return parseJson(Buffer.from(text, 'base64url').toString());
}

/** The allowed values of a cursor, so that the database's casts can't fail. */
export const cursorValues = {
  /** PostgreSQL has no year 0 and limits the digits of a second: a moment here has at most six. */
  moment: z.iso
    .datetime()
    .max(27)
    .regex(/^(?!0000)/),
  /** For a 32-bit column. */
  integer: z.string().regex(/^\d{1,9}$/),
  /** For a 64-bit column. A text that is no number stops here, because BigInt throws for it. */
  bigint: z
    .string()
    .regex(/^\d{1,19}$/, { abort: true })
    .refine((digits) => BigInt(digits) <= MAX_WHOLE_UNITS),
};
