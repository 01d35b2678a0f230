/**
 * Reads the ABI of custom errors that this product does not know, from the operator's file: the deployed
 * contracts may be newer than this platform.
 */
import { open } from 'node:fs/promises';
import type { Abi } from 'viem';
import * as z from 'zod';

export type AbiError = Extract<Abi[number], { type: 'error' }>;

/** A large contract's artefact has some hundred kilobytes. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

const TYPE = /^(u?int(\d{1,3})?|bytes(\d{1,2})?|address|bool|string|function|tuple)(\[\d{0,6}\])*$/;

const parameter = z.object({
  name: z.string().optional(),
  type: z.string().regex(TYPE),
  get components() {
    return z.array(parameter).optional();
  },
});
const errorItem = z.object({
  type: z.literal('error'),
  name: z.string().regex(/^[A-Za-z_$][\w$]*$/),
  inputs: z.array(parameter).default([]),
});
const items = z.array(z.looseObject({ type: z.string() }));
/** Compilers put the ABI into an object beside other output. */
const fileSchema = z.union([items, z.looseObject({ abi: items }).transform(({ abi }) => abi)]);

/**
 * Empty without a file.
 * @throws Error, with the file's name, when it can't be read or holds no contract errors
 */
export async function readErrorAbi(file: string | undefined): Promise<readonly AbiError[]> {
  if (file === undefined) return [];
  const errors = parseAbi(file, await readText(file)).filter(({ type }) => type === 'error');
  if (errors.length === 0) throw new Error(`${file} names no errors: expected items with "type": "error"`);
  return errors.map((item) => {
    const read = errorItem.safeParse(item);
    if (read.success) return read.data;
    throw new Error(`${file} has an error that is none of an ABI: ${JSON.stringify(item).slice(0, 200)}`);
  });
}

function parseAbi(file: string, text: string): { type: string }[] {
  try {
    return fileSchema.parse(JSON.parse(text));
  } catch {
    throw new Error(`${file} is no ABI: expected a JSON array of items, or an object with such an "abi"`);
  }
}

async function readText(file: string): Promise<string> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${file} can't be read (${error.code})`, { cause: error });
  });
  try {
    const { size } = await handle.stat();
    if (size > MAX_FILE_BYTES) throw new Error(`${file} is larger than ${MAX_FILE_BYTES} bytes`);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
