/**
 * Streams that are read by callbacks: read directly, mapped, and ended midway.
 */
import { expect, it } from 'vitest';
import { MappedStream, pullStreamOf, StreamBase, type StepReader } from '../../../src/lib/pullStream.ts';

/** A stream of the test's values, which counts its ends. */
class Source extends StreamBase<number> {
  readers: StepReader<number>[] = [];
  ends = 0;

  pull(reader: StepReader<number>): void {
    this.readers.push(reader);
  }

  protected stop(): void {
    this.ends += 1;
    for (const reader of this.readers.splice(0)) reader.onEnd();
  }

  give(value: number): void {
    this.readers.shift()?.onValue(value);
  }

  fail(error: unknown): void {
    this.readers.shift()?.onError(error);
  }
}

class Mapped extends MappedStream<number, string> {
  ends = 0;
  later: string[] = [];
  protected override readonly map: (value: number) => string | Promise<string> | undefined;

  constructor(source: Source, map: (value: number) => string | Promise<string> | undefined) {
    super(source);
    this.map = map;
  }

  giveLater(text: string): void {
    this.give(text);
  }

  protected override shownError(thrown: unknown): unknown {
    return new Error('shown', { cause: thrown });
  }

  protected override ended(): void {
    this.ends += 1;
  }
}

function record(steps: unknown[]): StepReader<unknown> {
  return {
    onValue: (value) => steps.push({ value }),
    onError: (error) => steps.push({ error }),
    onEnd: () => steps.push(null),
  };
}

it('is an iterator, too, and ends while it is waited for', async () => {
  const source = new Source();
  const first = source.next();
  source.give(1);
  expect(await first).toEqual({ done: false, value: 1 });
  const second = source.next();
  await source.return();
  expect(await second).toEqual({ done: true, value: undefined });
});

it('maps at once where the mapping is at hand, and later where it is not', async () => {
  const source = new Source();
  const steps: unknown[] = [];
  const later: ((text: string) => void)[] = [];
  const mapped = new Mapped(source, (value) => {
    if (value < 10) return `now ${value}`;
    return value < 100 ? new Promise<string>((resolve) => later.push(resolve)) : undefined;
  });
  const reader = record(steps);
  mapped.pull(reader);
  source.give(1);
  expect(steps).toEqual([{ value: 'now 1' }]);
  mapped.pull(reader);
  source.give(10);
  expect(steps).toHaveLength(1);
  later[0]?.('later');
  await expect.poll(() => steps).toEqual([{ value: 'now 1' }, { value: 'later' }]);
  mapped.pull(reader);
  source.give(100);
  expect(steps).toHaveLength(2);
  mapped.giveLater('last');
  expect(steps.at(-1)).toEqual({ value: 'last' });
});

it.each([
  ['throws', throwing],
  ['rejects', () => Promise.reject(new Error('bad'))],
])('ends its source when its mapping %s', async (_how, map) => {
  const source = new Source();
  const next = new Mapped(source, map).next();
  source.give(1);
  await expect(next).rejects.toThrow('shown');
  expect(source.ends).toBe(1);
});

function throwing(): Promise<string> {
  throw new Error('bad');
}

it('says that it has ended, by itself, by a failure and by its reader', async () => {
  const of = () => {
    const source = new Source();
    return { source, stream: new Mapped(source, String) };
  };
  const [itself, failure, reader] = [of(), of(), of()];
  const last = itself.stream.next();
  await itself.source.return();
  await last;
  const failed = failure.stream.next();
  failure.source.fail(new Error('lost'));
  await expect(failed).rejects.toThrow('shown');
  await reader.stream.return();
  expect([itself, failure, reader].map(({ stream }) => stream.ends)).toEqual([1, 1, 1]);
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
