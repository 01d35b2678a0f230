import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { linesByTurn } from '../../../src/lib/linesByTurn.ts';

function open() {
  const written: string[] = [];
  const turns: (() => void)[] = [];
  const lines = linesByTurn(
    (text) => written.push(text),
    (callback) => turns.push(callback),
  );
  return { lines, written, endTurn: () => turns.splice(0).forEach((callback) => callback()) };
}

describe('lines by turn', () => {
  it('writes the lines of one turn together, in their order', () => {
    const { lines, written, endTurn } = open();
    lines.write('first\n');
    lines.write('second\n');
    expect(written).toEqual([]);
    endTurn();
    lines.write('third\n');
    endTurn();
    endTurn();
    expect(written).toEqual(['first\nsecond\n', 'third\n']);
  });

  it('holds no more than a piece of what a turn writes', () => {
    const { lines, written, endTurn } = open();
    const line = `${'x'.repeat(999)}\n`;
    for (let i = 0; i < 200; i++) lines.write(line);
    expect(written.length).toBeGreaterThanOrEqual(3);
    endTurn();
    expect(written.join('')).toBe(line.repeat(200));
  });

  it('loses no line of a process that ends in the middle of a turn', async () => {
    const program = `
      const { createLogger } = await import(${JSON.stringify(new URL('../../../src/lib/logger.ts', import.meta.url).href)});
      const log = createLogger({ level: 'info', pretty: false });
      log.info('first');
      log.fatal('last');
      process.exit(3);`;
    const given = ['--import', 'tsx', '--input-type=module', '--eval', program];
    const ended = await promisify(execFile)(process.execPath, given).catch(
      (error: { code: number; stdout: string }) => error,
    );
    expect(ended).toMatchObject({ code: 3 });
    const said = ended.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(said).toEqual(['first', 'last']);
  });
});
