/**
 * Streams that are read by callbacks: read as they are, mapped, and ended in the middle.
 */
import { expect, it } from 'vitest';
import { mapPull, pullStream, pullStreamOf, type Step, type Take } from '../../../src/lib/pullStream.ts';

/** What it gives, and whether it was ended. */
function source() {
  const waiting: Take<number>[] = [];
  let ends = 0;
  const stream = pullStream<number>(
    (take) => void waiting.push(take),
    () => {
      ends += 1;
      for (const take of waiting.splice(0)) take(null);
    },
  );
  return { stream, give: (step: Step<number>) => waiting.shift()?.(step), ends: () => ends };
}

it('is an iterator, too, and ends while it is waited for', async () => {
  const { stream, give } = source();
  const first = stream.next();
  give({ value: 1 });
  expect(await first).toEqual({ done: false, value: 1 });
  const second = stream.next();
  await stream.return();
  expect(await second).toEqual({ done: true, value: undefined });
});

it('maps at once where the mapping is at hand, and later where it is not', async () => {
  const { stream, give } = source();
  const steps: Step<string>[] = [];
  const later: ((text: string) => void)[] = [];
  const mapped = mapPull(stream, {
    value: (value) => (value < 10 ? `now ${value}` : new Promise<string>((resolve) => later.push(resolve))),
  });
  mapped.pull((step) => steps.push(step));
  give({ value: 1 });
  expect(steps).toEqual([{ value: 'now 1' }]);
  mapped.pull((step) => steps.push(step));
  give({ value: 10 });
  expect(steps).toHaveLength(1);
  later[0]?.('later');
  await expect.poll(() => steps).toEqual([{ value: 'now 1' }, { value: 'later' }]);
});

it.each([
  ['throws', throwing],
  ['rejects', () => Promise.reject(new Error('bad'))],
])('ends its source when its mapping %s', async (_how, value) => {
  const { stream, give, ends } = source();
  const error = (thrown: unknown) => new Error('shown', { cause: thrown });
  const next = mapPull(stream, { value, error }).next();
  give({ value: 1 });
  await expect(next).rejects.toThrow('shown');
  expect(ends()).toBe(1);
});

function throwing(): Promise<string> {
  throw new Error('bad');
}

it('says that it has ended, by itself, by a failure and by its reader', async () => {
  const ended: string[] = [];
  const of = (name: string) => {
    const { stream, give } = source();
    return { give, stream: mapPull(stream, { value: (value) => value, ended: () => ended.push(name) }) };
  };
  const [itself, failure, reader] = [of('itself'), of('failure'), of('reader')];
  const last = itself.stream.next();
  itself.give(null);
  await last;
  const failed = failure.stream.next();
  failure.give({ error: new Error('lost') });
  await expect(failed).rejects.toThrow('lost');
  await reader.stream.return();
  expect(ended).toEqual(['itself', 'failure', 'reader']);
});

it('reads any iterator, and hands its failure on', async () => {
  async function* numbers() {
    yield 1;
    throw new Error('broken');
  }
  const stream = pullStreamOf(numbers());
  expect(await stream.next()).toEqual({ done: false, value: 1 });
  await expect(stream.next()).rejects.toThrow('broken');
});
