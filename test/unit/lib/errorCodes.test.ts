/**
 * docs/errors.md explains every code with the same text as the table in the program.
 */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { ERROR_CODES } from '../../../src/lib/errors.ts';

it('documents every error code', async () => {
  const text = await readFile(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
  for (const [code, meaning] of Object.entries(ERROR_CODES)) {
    expect(text, code).toContain(`\`${code}\``);
    expect(text, `meaning of ${code}`).toContain(meaning);
  }
});
