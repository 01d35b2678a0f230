/**
 * Which questions are asked while the network does not answer.
 */
import { expect, it } from 'vitest';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { createQuestions } from '../../../src/reconciliation/questions.ts';
import { broken, nothingCompared, unproved, type Comparison } from '../../../src/reconciliation/verdicts.ts';

type Answer = 'answer' | 'silence' | 'reported silence' | 'answer without data' | 'answer with a silent part';

const SILENCE = unproved(['I2'], 'NO_ANSWER', 'refused');

const ANSWERS: Record<Answer, () => Promise<Comparison & { isAnswered?: boolean }>> = {
  answer: async () => nothingCompared(),
  silence: async () => Promise.reject(new NetworkUnavailable('refused')),
  'reported silence': async () => SILENCE,
  'answer without data': async () => unproved(['I2'], 'NO_DATA', 'none'),
  'answer with a silent part': async () => ({ ...SILENCE, isAnswered: true }),
};

/** @returns the numbers of the asked questions and of the skipped ones, and what is said of those */
async function ask(answers: readonly Answer[], concurrency = 1) {
  const asked: number[] = [];
  const pauses: number[] = [];
  const questions = createQuestions({
    invariants: ['I2', 'I3'],
    noun: 'things',
    concurrency,
    wait: async () => pauses.push(asked.length),
  });
  const compared = await questions.askAll(
    answers.map((answer, n) => ({ answer, n })),
    ({ n }) => `thing ${n}`,
    ({ answer, n }) => {
      asked.push(n);
      return ANSWERS[answer]();
    },
  );
  const skipped = compared.flatMap((one, n) => (one === null ? [n] : []));
  const said = questions.sum().notProved.filter(({ message }) => message.includes('were not compared'));
  return { asked, skipped, said, pauses };
}

const times = (n: number, answer: Answer): Answer[] => Array.from({ length: n }, () => answer);

it.each(['silence', 'reported silence'] as const)('skips the rest after three times %s', async (silence) => {
  const message = '2 things were not compared, after the network did not answer for 3';
  expect(await ask(times(5, silence))).toEqual({
    asked: [0, 1, 2],
    skipped: [3, 4],
    said: [
      { invariant: 'I2', obstacle: 'NO_ANSWER', message },
      { invariant: 'I3', obstacle: 'NO_ANSWER', message },
    ],
    pauses: [1, 2, 3],
  });
});

it.each(['answer', 'answer without data', 'answer with a silent part'] as const)(
  'asks on where an %s comes in between, and pauses after silences alone',
  async (answer) => {
    const answers = [...times(2, 'silence'), answer, ...times(2, 'silence'), answer];
    expect(await ask(answers)).toEqual({
      asked: [0, 1, 2, 3, 4, 5],
      skipped: [],
      said: [],
      pauses: [1, 2, 4, 5],
    });
  },
);

it('counts three silences for each question under way at a time', async () => {
  const { asked, skipped } = await ask(times(16, 'silence'), 4);
  // Those that were under way when the twelfth silence came were asked.
  expect(asked.length).toBeGreaterThanOrEqual(12);
  expect(asked.length).toBeLessThan(16);
  expect(asked.length + skipped.length).toBe(16);
});

it('keeps what is found, and throws an error that is no silence', async () => {
  const questions = createQuestions({ invariants: ['I2'], noun: 'things', concurrency: 1 });
  const found = broken('I2', 'one is wrong');
  await questions.askAll([1], String, async () => found);
  await questions.askAll([2], String, async () => found);
  expect(questions.sum().findings).toEqual([...found.findings, ...found.findings]);
  const defect = questions.askAll([3], String, () => Promise.reject(new Error('a defect')));
  await expect(defect).rejects.toThrow('a defect');
});
