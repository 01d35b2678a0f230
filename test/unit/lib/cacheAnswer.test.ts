import { expect, it } from 'vitest';
import { cacheAnswer } from '../../../src/lib/cacheAnswer.ts';

function cacheOf(cachesFailures: boolean) {
  let nowMs = 0;
  let isAway = false;
  const asked: string[] = [];
  const ask = cacheAnswer(
    { maxAgeMs: 100, clock: { now: () => new Date(nowMs) }, cachesFailures },
    async (caller: string) => {
      asked.push(caller);
      if (isAway) throw new Error(`${caller} is refused`);
      return caller;
    },
  );
  return {
    ask,
    asked,
    pass: (ms: number) => (nowMs += ms),
    goAway: () => (isAway = true),
    comeBack: () => (isAway = false),
  };
}

it('asks once for all who ask within the time', async () => {
  const { ask, asked, pass } = cacheOf(true);
  expect(await Promise.all([ask('a'), ask('b')])).toEqual(['a', 'a']);
  pass(99);
  expect(await ask('c')).toBe('a');
  pass(1);
  expect(await ask('d')).toBe('d');
  expect(asked).toEqual(['a', 'd']);
});

it('asks anew when the clock was set back', async () => {
  const { ask, pass } = cacheOf(true);
  await ask('a');
  pass(-1);
  expect(await ask('b')).toBe('b');
});

it.each([true, false])(
  'keeps a failure for as long, or gives it to its own callers alone: %s',
  async (keeps) => {
    const { ask, asked, goAway, comeBack } = cacheOf(keeps);
    goAway();
    const refused = expect(ask('a')).rejects.toThrow('a is refused');
    const joined = ask('b');
    comeBack();
    await refused;
    await (keeps ? expect(joined).rejects.toThrow('a is refused') : expect(joined).resolves.toBe('b'));
    await (keeps ? expect(ask('c')).rejects.toThrow('a is refused') : expect(ask('c')).resolves.toBe('b'));
    expect(asked).toEqual(keeps ? ['a'] : ['a', 'b']);
  },
);

it('keeps a newer answer when an older question fails', async () => {
  let nowMs = 0;
  const questions: { resolve(answer: string): void; reject(error: Error): void }[] = [];
  const ask = cacheAnswer(
    { maxAgeMs: 100, clock: { now: () => new Date(nowMs) }, cachesFailures: false },
    () => new Promise<string>((resolve, reject) => questions.push({ resolve, reject })),
  );
  const older = ask();
  nowMs = 100;
  const newer = ask();
  questions[0]?.reject(new Error('too late'));
  questions[1]?.resolve('newer');
  await Promise.allSettled([older, newer]);
  expect(await ask()).toBe('newer');
  expect(questions).toHaveLength(2);
});

it('lets each of those who waited ask for itself, when the second one is refused too', async () => {
  const { ask, goAway } = cacheOf(false);
  goAway();
  const names = ['a', 'b', 'c', 'd'];
  const answers = await Promise.allSettled(names.map((name) => ask(name)));
  expect(answers).toMatchObject(names.map((name) => ({ reason: { message: `${name} is refused` } })));
});
