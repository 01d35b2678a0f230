import { expect, it, onTestFinished, vi } from 'vitest';
import { createOperationLog } from '../../../src/http/graphql/logOperations.ts';
import { newContext } from '../../../src/http/graphql/transportContext.ts';

it('observes how long an operation took to less than a millisecond, and logs whole ones', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const logged: unknown[] = [];
  const observed: unknown[] = [];
  const info = (line: { durationMs: number }) => void logged.push(line.durationMs);
  const log = { info, debug: info, isLevelEnabled: () => false } as Parameters<typeof createOperationLog>[0];
  const context = newContext({
    requestId: 'r',
    remoteAddress: '192.0.2.1',
    transport: 'http',
    whenSent: () => undefined,
  });
  context.trace.startedAtMs -= 2.3;
  createOperationLog(log, ({ durationMs }) => void observed.push(durationMs)).logRefusal(context, []);
  expect(observed).toEqual([expect.closeTo(2.3, 6)]);
  expect(logged).toEqual([2]);
});
