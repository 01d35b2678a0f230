/**
 * The whole contract. Each file of a business's folder registers its part when it is loaded, so that a new file is in the schema
 * without being named here.
 */
import { readdirSync } from 'node:fs';
import { builder } from './core/builder.ts';

const BUSINESSES = ['access', 'approvals', 'carbon', 'operations', 'wallets', 'warehouse'];

for (const business of BUSINESSES) {
  const files = readdirSync(new URL(business, import.meta.url)).filter((name) => name.endsWith('.ts'));
  await Promise.all(files.map((file) => import(/* @vite-ignore */ `./${business}/${file}`)));
}

export const schema = builder.toSchema();
