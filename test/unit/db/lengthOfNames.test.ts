/**
 * PostgreSQL cuts a name off after 63 bytes, with a notice alone. An error then names another rule than the
 * migrations and drizzle's snapshots do.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const MAX_NAME_BYTES = 63;

it('no name in a migration is cut off', () => {
  const paths = readdirSync('drizzle', { encoding: 'utf8', recursive: true });
  const texts = paths
    .filter((path) => path.endsWith('.sql'))
    .map((path) => readFileSync(`drizzle/${path}`, 'utf8'));
  const names = texts.flatMap((text) => text.match(/\w+/g) ?? []);
  expect(names).toContain('manual_ramp_statuses');
  expect(names.filter((name) => name.length > MAX_NAME_BYTES)).toEqual([]);
});
