/**
 * The statements that wait for answers of one connection, each with its deadline, and one timer for all.
 */
import postgres from 'postgres';
import { asConnectionLost, ConnectionLost } from './connectionLost.ts';

/** A statement with its deadline by `performance.now()`, or a transaction's work, which has no deadline. */
interface Open {
  reject: (reason: Error) => void;
  timeoutMs: number;
  deadline: number;
}

export interface OpenStatements {
  /** Waits for the answer. @throws ConnectionLost */
  untilAnswered<T>(query: PromiseLike<T>, timeoutMs: number): Promise<T>;
  /** Settles as the work does, or rejects at once when the connection is lost first. */
  untilLost<T>(work: Promise<T>): Promise<T>;
  /** The moment of the last answer, by `performance.now()`. */
  answeredAt(): number;
  /** Whether the connection was given up because an answer did not come in time. */
  isSilent(): boolean;
  /** Rejects all open statements; deadlines no longer count. */
  rejectAll(reason: Error): void;
}

/** @param onBroken called once the connection is unusable: an answer is missing, or the socket failed */
export function createOpenStatements(onBroken: (reason: Error) => void): OpenStatements {
  const all = new Set<Open>();
  /** The one timer, set for the first deadline of the statements that were open at that moment. */
  let timer: NodeJS.Timeout | undefined;
  let wakesAt = Number.POSITIVE_INFINITY;
  let answeredAt = performance.now();
  let isSilent = false;

  /** An answer leaves the timer as it is; when the timer fires, it is set for the statements open then. */
  function wakeAt(deadline: number): void {
    if (deadline >= wakesAt) return;
    clearTimeout(timer);
    wakesAt = deadline;
    timer = setTimeout(checkDeadlines, deadline - performance.now()).unref();
  }

  function checkDeadlines(): void {
    wakesAt = Number.POSITIVE_INFINITY;
    let first: Open | null = null;
    for (const one of all) if (first === null || one.deadline < first.deadline) first = one;
    if (first === null) return;
    if (first.deadline > performance.now()) return wakeAt(first.deadline);
    isSilent = true;
    onBroken(new ConnectionLost(`The database gave no answer in ${first.timeoutMs} ms`));
  }

  return {
    untilAnswered(query, timeoutMs) {
      return new Promise((resolve, reject) => {
        const one: Open = { reject, timeoutMs, deadline: performance.now() + timeoutMs };
        all.add(one);
        wakeAt(one.deadline);
        query.then(
          (answer) => {
            answeredAt = performance.now();
            all.delete(one);
            return resolve(answer);
          },
          (error: Error) => {
            all.delete(one);
            const failure = asConnectionLost(error);
            if (isAnswer(failure)) answeredAt = performance.now();
            else onBroken(failure);
            reject(failure);
          },
        );
      });
    },
    async untilLost(work) {
      const one: Open = { reject: () => {}, timeoutMs: 0, deadline: Number.POSITIVE_INFINITY };
      const lost = new Promise<never>((_, reject) => (one.reject = reject));
      all.add(one);
      try {
        return await Promise.race([work, lost]);
      } finally {
        all.delete(one);
      }
    },
    answeredAt: () => answeredAt,
    isSilent: () => isSilent,
    rejectAll(reason) {
      clearTimeout(timer);
      for (const { reject } of all) reject(reason);
    },
  };
}

/** SQLSTATE of a write to a standby or a read-only server: the next connection may lead to the primary. */
const READ_ONLY = '25006';

/** The server refused the statement; after a FATAL refusal it ends the connection as well. */
function isAnswer(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity === 'ERROR' && error.code !== READ_ONLY;
}
