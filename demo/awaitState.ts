/**
 * Polls the subject of a mutation until it has the wanted state: the mutation itself responds with the state
 * at the end of its wait (MUTATION_WAIT_MS).
 */
import type { ApiClient } from './client.ts';
import { pollUntil } from './pollUntil.ts';

/** A deploy and a mint take a quarter of an hour each on Ethereum when only final blocks count. */
export const OUTCOME_TIMEOUT_MS = 3_600_000;

/** States that do not change without an operator. */
const ENDS = ['REFUSED', 'CLOSED', 'NEEDS_REVIEW'];

interface Subject {
  type: 'Project' | 'Receipt' | 'Retirement' | 'OffRampSession';
  /** The global id that the mutation answered with. */
  id: string;
}

/**
 * Polls a subject's `fields` until its state is `goal`.
 * @throws when the subject is refused, closed or under review instead, or when the network takes longer than
 *   an hour
 */
export async function awaitState<T>(
  api: ApiClient,
  { type, id }: Subject,
  goal: string,
  fields: string,
  token: string,
): Promise<T> {
  const node = await pollUntil(
    `the ${type} ${id} is ${goal}`,
    async () => {
      const answer = await api.send<{ node: (T & { state: string }) | null }>(
        `query ($id: ID!) { node(id: $id) { ... on ${type} { state ${fields} } } }`,
        { id },
        token,
      );
      return answer.node;
    },
    (current) => current === null || current.state === goal || ENDS.includes(current.state),
    OUTCOME_TIMEOUT_MS,
  );
  if (node?.state !== goal) {
    throw new Error(`The ${type} ${id} was to become ${goal}, and is ${node?.state ?? 'not there'}.`);
  }
  return node;
}

export interface NetworkTransaction {
  kind: string;
  state: string;
  txHash: string;
}

/** Returns the hash of the subject's landed transaction of this kind. */
export function landedHash(transactions: readonly NetworkTransaction[], kind: string): string {
  return transactions.find((one) => one.kind === kind && one.state === 'LANDED')?.txHash ?? 'not known yet';
}
