import { describe, expect, it } from 'vitest';
import { findRefusedMigrations, type Migration } from '../../../scripts/migrationChanges.ts';

const TABLES: Migration = { file: 'platform/0000_tables.sql', when: 1_000, sha256: 'a' };
const RULES: Migration = { file: 'platform/0001_rules.sql', when: 1_001, sha256: 'b' };
const OTHERS: Migration = { file: 'embedded-network/0000_tables.sql', when: 5_000, sha256: 'c' };
const NEXT: Migration = { file: 'platform/0002_next.sql', when: 1_002, sha256: 'd' };
const released = [TABLES, RULES, OTHERS];

describe('migrations', () => {
  it('may change freely before the first release', () => {
    expect(findRefusedMigrations([], released)).toEqual([]);
  });

  it('may be added, each later than those of its database', () => {
    expect(findRefusedMigrations(released, [...released, NEXT])).toEqual([]);
  });

  it.each([
    [
      'changed',
      [{ ...TABLES, sha256: 'z' }, RULES, OTHERS],
      'platform/0000_tables.sql is released and is changed',
    ],
    ['gone', [TABLES, OTHERS], 'platform/0001_rules.sql is released and is gone'],
    [
      'at another time',
      [TABLES, { ...RULES, when: 9 }, OTHERS],
      'platform/0001_rules.sql is released and has another time',
    ],
    ['older', [...released, { ...NEXT, when: 1_001 }], 'platform/0002_next.sql is older than a released one'],
  ])('are refused when one is %s', (_, current, sentence) => {
    expect(findRefusedMigrations(released, current)).toEqual([expect.stringContaining(sentence)]);
  });
});
