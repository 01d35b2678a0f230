/**
 * Asks for a mutation's subject until it has the wanted state: the mutation itself answers with the state at the end
 * of its wait (MUTATION_WAIT_MS).
 */
import type { ApiClient } from './client.ts';
import { pollUntil } from './pollUntil.ts';

/** Where only blocks final on Ethereum count, a deploy and a mint take a quarter of an hour each. */
export const OUTCOME_TIMEOUT_MS = 3_600_000;

/** No other state follows by itself. */
const ENDS = ['REFUSED', 'CLOSED', 'NEEDS_REVIEW'];

interface Subject {
  type: 'Project' | 'Receipt' | 'Retirement' | 'OffRampSession';
  /** The global id that the mutation answered with. */
  id: string;
}

/**
 * Asks for a subject's `fields` until its state is `goal`.
 * @throws when it is refused, closed or under review instead, or when the network takes longer than an hour.
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

/** The hash of a subject's landed transaction of this kind. */
export function landedHash(transactions: readonly NetworkTransaction[], kind: string): string {
  return transactions.find((one) => one.kind === kind && one.state === 'LANDED')?.txHash ?? 'not known yet';
}
