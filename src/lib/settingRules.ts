/**
 * The type of a setting, and the rules that several settings share.
 */
import * as z from 'zod';

/** Of a shared secret: an HS256 secret below 32 bytes is easier to guess than the hash is to break. */
export const MIN_SECRET_BYTES = 32;

export interface Setting {
  /** For docs/settings.md and .env.example. */
  description: string;
  /** The default as it would be written in the environment; null when there is none. */
  default: string | null;
  /** Values of secrets are never repeated in a message. */
  secret?: true;
  schema: z.ZodType<unknown, string | undefined>;
}

/** @param more marks a secret, and adds values for tables of settings */
export function setting<T, const More extends object = object>(
  schema: z.ZodType<T, string | undefined>,
  defaultValue: string | null,
  description: string,
  more?: More,
) {
  return { schema, default: defaultValue, description, ...(more ?? ({} as More)) } satisfies Setting;
}

export const wholeNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,16}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(minimum, `must be at least ${minimum}`).max(maximum, `must be at most ${maximum}`));

const either = new Intl.ListFormat('en-GB', { type: 'disjunction' });
export const oneOf = <const Choice extends string>(...choices: readonly Choice[]) =>
  z.enum(choices, { error: `must be ${either.format(choices)}` });

export const flag = oneOf('true', 'false').transform((value) => value === 'true');

/** Credentials in an address end up in messages and logs, and fetch refuses them. */
export const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .refine(
    (url) => !URL.canParse(url) || new URL(url).username + new URL(url).password === '',
    'must hold no user and password; a key belongs in the path, or in a proxy in front',
  );
export const secretText = z
  .string()
  .refine(
    (text) => Buffer.byteLength(text) >= MIN_SECRET_BYTES,
    `must have at least ${MIN_SECRET_BYTES} bytes`,
  );
export const text = z.string().min(1, 'must not be empty');
export const list = text.transform((names) => names.split(',').map((name) => name.trim()));
