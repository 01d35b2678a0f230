/**
 * The whole contract. Each file of a business's folder registers its part when it is loaded, so that a new
 * file or folder is in the schema without being named here.
 */
import { readdirSync } from 'node:fs';
import { builder } from './core/builder.ts';

/** The folder of the parts with which the others are built. */
const CORE = 'core';

const businesses = readdirSync(new URL('.', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== CORE)
  .map(({ name }) => name);

for (const business of businesses) {
  const files = readdirSync(new URL(business, import.meta.url)).filter((name) => name.endsWith('.ts'));
  await Promise.all(files.map((file) => import(/* @vite-ignore */ `./${business}/${file}`)));
}

export const schema = builder.toSchema();
