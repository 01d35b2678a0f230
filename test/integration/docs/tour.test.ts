/**
 * docs/tour.md as printed, block by block in one shell, the kill included. Only the port differs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import { blocksOf, ROOT } from '../../support/docs/blocks.ts';
import { memoryFolder } from '../../../devnet/memoryFolder.ts';
import { onlyWith } from '../../../devnet/runToEnd.ts';

/** Time for two starts and a first cluster on a busy machine. */
const TIMEOUT_MS = 180_000;
/** Ends the background processes of a failed block. */
const CLEAN_UP = `trap 'kill $FOLLOWER $SERVER 2> /dev/null || true' EXIT`;

it('runs the tour to the letter', { timeout: TIMEOUT_MS }, async () => {
  const blocks = (await blocksOf('docs/tour.md')).filter(({ language }) => language === 'sh');
  expect(blocks.length).toBeGreaterThan(10);
  const folder = await mkdtemp(join(await memoryFolder(), 'tour-'));
  // As root, PostgreSQL runs as another user, who must be able to reach the folder.
  await chmod(folder, 0o755);
  const port = await freePort();
  const marked = blocks.map(({ text, where }) => `echo '=== ${where}'\n${text}`);
  const script = ['set -eo pipefail', CLEAN_UP, ...marked]
    .join('\n')
    .replaceAll('localhost:4000', `localhost:${port}`);
  try {
    const shell = spawn('bash', ['-c', script], {
      cwd: fileURLToPath(ROOT),
      env: onlyWith({
        TMPDIR: folder,
        DATA_DIR: join(folder, 'data'),
        PORT: String(port),
        API_URL: `http://localhost:${port}/graphql`,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [output, problems] = ['', ''];
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    shell.stderr.setEncoding('utf8').on('data', (text: string) => (problems += text));
    const [code] = (await once(shell, 'close')) as [number | null];
    const all = `${output}\n${problems}`;
    expect(code, all).toBe(0);
    expect(all).toContain('"assetId"');
    expect(all).toContain('"tonnes":"600"');
    expect(all).toMatch(/"state":"RETIRED","tonnes":"250","recordIndex":0/);
    expect(all).toContain('This certificate holds');
    expect(all).toMatch(/answered: \d+ of 20/);
    expect([...new Set(all.match(/"recordIndex":\d+/g))]).toHaveLength(21);
    expect(all).toContain('{"totalRetired":"270000000000000000000","totalRetirements":21}');
    expect(all).toMatch(/^ *21$/m);
    expect(all).not.toMatch(/broken|not proved/);
    expect(all.match(/holds /g)?.length).toBeGreaterThan(10);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
});
