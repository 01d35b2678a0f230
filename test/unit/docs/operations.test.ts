/**
 * docs/operations.md shows how to make the global id of a row from the UUID in the log.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { encodeGlobalId } from '../../../src/schema/core/globalIds.ts';
import { blocksOf } from '../../support/docs/blocks.ts';

const UUID = '01a20831-9c50-7168-8a8a-755f73607426';

it('makes ids as the API takes them', async () => {
  const blocks = await blocksOf('docs/operations.md');
  const command = blocks.find(({ text }) => text.includes('base64 |'))?.text ?? '';
  for (const type of ['Submission', 'OffRampSession', 'Receipt', 'ExpiryRun', 'ApiKey']) {
    const { stdout } = await promisify(execFile)('bash', ['-ec', command.replace('Submission', type)]);
    expect(stdout.trim()).toBe(encodeGlobalId(type, UUID));
  }
});
