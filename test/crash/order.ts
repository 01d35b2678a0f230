/**
 * The order for an instance of the crash tests: its work, and where it dies.
 */
import type { CrashPoint as CrashPointOfSubmission } from '../../src/ledger/submission/submission.ts';
import type { cashOut } from '../../src/resolvers/warehouse/offRamp/cashOut.ts';
import type { createProject } from '../../src/resolvers/carbon/createProject.ts';
import type { retire } from '../../src/resolvers/carbon/retire.ts';
import type { LedgerConfig } from '../../src/ledger/network/families.ts';
import { callerOf } from '../support/callers.ts';

export interface InstanceOrder {
  databaseUrl: string;
  ledger: LedgerConfig;
  killAt: CrashPoint;
  /** The passing of the point at which the instance dies, from 1. */
  occurrence: number;
  request:
    | { kind: 'createProject'; input: Parameters<typeof createProject>[2] }
    /** A second person approves the request with this id. */
    | { kind: 'grantApproval'; id: string }
    | { kind: 'retire'; input: Parameters<typeof retire>[2] }
    /** All are held before the instance works on the first. */
    | { kind: 'retireMany'; inputs: Parameters<typeof retire>[2][] }
    | { kind: 'cashOut'; input: Parameters<typeof cashOut>[2] }
    /** The provider reports the end of the payout; then the instance waits for the session. */
    | {
        kind: 'payoutEnds';
        offRampSessionId: string;
        providerSessionId: string;
        status: 'settled' | 'failed';
      }
    /** The session is cancelled; then the instance waits for it. */
    | { kind: 'cancelCashOut'; offRampSessionId: string; idempotencyKey: string };
}

export type CrashPoint =
  | CrashPointOfSubmission
  /** Before any worker has seen the request. */
  | 'request-committed'
  /** The request for approval is decided, in the uncommitted transaction of its effect. */
  | 'approval-uncommitted'
  /** The provider has opened its session, and the platform has not stored the session's id. */
  | 'ramp-session-opened'
  /** The provider has closed its session, and the platform has not stored that. */
  | 'ramp-session-closed';

/** The caller who approves. */
export const secondPerson = callerOf('second', 'operator');

const TAG = '$bigint';

export function encodeOrder(order: InstanceOrder): string {
  return JSON.stringify(order, (_key, value: unknown) =>
    typeof value === 'bigint' ? { [TAG]: value.toString() } : value,
  );
}

export function decodeOrder(text: string): InstanceOrder {
  return JSON.parse(text, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && TAG in value ? BigInt(String(value[TAG])) : value,
  ) as InstanceOrder;
}
