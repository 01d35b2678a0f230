/** If two nodes answer in turns or at random, one that is not behind answers within so many retries. */
const MAX_RETRIES = 4;

/**
 * Repeats a question, because one address may stand for several nodes, some of them behind the others: the
 * next node may have the missing answer.
 * @returns the first answer of a node that is not behind, or else the last answer
 */
export async function retryWhile<T>(isBehind: (answer: T) => boolean, ask: () => Promise<T>): Promise<T> {
  for (let left = MAX_RETRIES; ; left -= 1) {
    const answer = await ask();
    if (left === 0 || !isBehind(answer)) return answer;
  }
}
