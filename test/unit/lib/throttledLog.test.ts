/**
 * A flood of refusals becomes one counting log line a second.
 */
import { afterEach, expect, it, vi } from 'vitest';
import { createThrottledLog } from '../../../src/lib/throttledLog.ts';

afterEach(() => vi.useRealTimers());

it('logs the first at once, and then one line a second with the count and the first addresses', () => {
  vi.useFakeTimers();
  const lines: object[] = [];
  const log = createThrottledLog({ warn: (line: object) => lines.push(line) } as never, 'refused');
  log.count({ remoteAddress: '192.0.2.1' });
  expect(lines).toEqual([{ remoteAddress: ['192.0.2.1'], count: 1, total: 1 }]);
  for (let i = 0; i < 1_000; i++) log.count({ remoteAddress: `192.0.2.${i % 20}` });
  expect(lines).toHaveLength(1);
  vi.advanceTimersByTime(1_000);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatchObject({ count: 1_000, total: 1_001 });
  expect((lines[1] as { remoteAddress: string[] }).remoteAddress).toHaveLength(10);
  vi.advanceTimersByTime(5_000);
  expect(lines).toHaveLength(2);
  log.count({ remoteAddress: '192.0.2.7' });
  log.count({ remoteAddress: '192.0.2.8' });
  log.stop();
  expect(lines.slice(2)).toMatchObject([{ count: 1 }, { count: 1, total: 1_003 }]);
});
