/**
 * A ramp provider with faults: it wraps a real provider, and loses calls or answers, or gives the answers
 * that a test sets.
 */
import { DomainError } from '../../../src/lib/errors.ts';
import type { RampProvider } from '../../../src/ramp/port.ts';

type RampFault =
  /** The call never reaches the provider. */
  | 'unreachable'
  /** The call takes effect, but its answer is lost. */
  | 'answer-lost'
  /** The provider refuses. */
  | 'refused';

const METHODS = ['quote', 'openSession', 'findSessionByReference', 'getStatus', 'closeSession'] as const;
type RampMethod = (typeof METHODS)[number];

/** Called before each call; null lets it through. */
export type RampFaultPlan = (method: RampMethod, callNumber: number) => RampFault | null;

export interface FaultyRamp extends RampProvider {
  /** How often each method was called. */
  calls: ReadonlyMap<RampMethod, number>;
  /** How often this session's status was asked for. */
  looksAt(sessionId: string): number;
}

export function withRampFaults(provider: RampProvider, plan: RampFaultPlan): FaultyRamp {
  const calls = new Map<RampMethod, number>();
  const looks: unknown[] = [];
  const looksAt = (sessionId: string) => looks.filter((id) => id === sessionId).length;
  const faulty = { ...provider, calls, looksAt };
  for (const method of METHODS) {
    const original = provider[method].bind(provider) as (...args: unknown[]) => Promise<unknown>;
    const replacement = async (...args: unknown[]): Promise<unknown> => {
      const callNumber = (calls.get(method) ?? 0) + 1;
      calls.set(method, callNumber);
      if (method === 'getStatus') looks.push(args[0]);
      const fault = plan(method, callNumber);
      if (fault === 'unreachable') throw new DomainError('RAMP_UNAVAILABLE', `${method}: connection refused`);
      if (fault === 'refused') throw new DomainError('RAMP_REFUSED', `${method} refused by the test`);
      const answer = await original(...args);
      if (fault === 'answer-lost') throw new DomainError('RAMP_UNAVAILABLE', `${method}: connection reset`);
      return answer;
    };
    Object.assign(faulty, { [method]: replacement });
  }
  return faulty;
}
