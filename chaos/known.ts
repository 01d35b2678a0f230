/**
 * What clients know from their answers, and the people who send requests.
 */
import type { UnsignedTransaction } from '../src/ledger/network/port.ts';
import type { Role } from '../src/identity/roles.ts';
import type { Api, Caller } from './api.ts';
import type { Lab } from './lab.ts';
import type { Registers } from './registers.ts';
import type { Random } from './schedule.ts';

/** The objects that mutations answer, with the fields that are read of each. */
export const FIELDS = {
  Project: 'state tokenAddress',
  Purchase: 'tonnes',
  CreditTransfer: 'tonnes',
  Retirement: 'state note',
  Receipt: 'state tokenAddress',
  OffRampSession: 'state sessionId',
  ReceiptPledge: 'loanReference releasedAt',
  IssuanceCap: 'commodityType',
  ApprovalRequest: 'state',
  HolderAct: 'state unsigned { payload }',
  ApiKey: 'revokedAt',
  TokenRevocation: 'subject',
  ExpiryRun: 'startedAt',
} as const;
export type Kind = keyof typeof FIELDS;
export type Input = Readonly<Record<string, unknown>>;

/** An object in an answered success: it must be there at the end, as it was answered. */
export interface Fact {
  kind: Kind;
  id: string;
  caller: Caller;
  input: Input;
  answeredAt: number;
  state?: string;
  tonnes?: string;
  note?: string;
  tokenAddress?: string | null;
  loanReference?: string;
  releasedAt?: number | null;
  revokedAt?: number | null;
  subject?: string;
  unsigned?: Pick<UnsignedTransaction, 'payload'>;
  /** The secret of a new API key. */
  key?: string;
}

export interface Known {
  lab: Lab;
  api: Api;
  random: Random;
  custodyAddress: string;
  /** Without those that a restore lost. */
  facts: Fact[];
  registers: Registers;
  /** Is in no other request. */
  unique(): string;
}

export const BUYERS = ['buyer-1', 'buyer-2', 'buyer-3'] as const;
/** By number: `operator-2` is another person than `operator-1`. */
export const person = (role: Role, number = 1): Caller => ({ role, subject: `${role}-${number}` });
/** The warehouse that has caps, for each of its commodities. */
export const CAPPED_WAREHOUSE = person('warehouse', 2);
export const CAPPED = ['Beans', 'Rice'] as const;
/** The first cap that is set; no later one is higher. */
export const HIGHEST_CAP_KG = 1_000;
/** The provider leaves time for a holder's signature before it pays to this account. */
export const HOLDERS_ACCOUNT_NUMBER = '254700654321';

/** Signs forged deliveries. */
export const FOREIGN_SECRET = 'a secret that the platform does not know';

/** The buyer's name in its retirements. */
export const beneficiaryOf = (buyer: string) => `${buyer} Ltd`;

export const factsOf = ({ facts }: Known, kind: Kind) => facts.filter((fact) => fact.kind === kind);
export const projectsOf = (known: Known) =>
  factsOf(known, 'Project').filter(({ tokenAddress }) => tokenAddress != null);
export const cashableOf = (known: Known, farmerAddress: string) =>
  factsOf(known, 'Receipt').filter(
    ({ tokenAddress, state, input }) =>
      tokenAddress != null &&
      state !== 'EXPIRED' &&
      input['farmerAddress'] === farmerAddress &&
      input['warehouseId'] !== CAPPED_WAREHOUSE.subject,
  );
/** Those that no later answer shows as decided, released or revoked. */
export function openOf(known: Known, kind: Kind, isOpen: (fact: Fact) => boolean): Fact[] {
  const all = factsOf(known, kind);
  const closed = new Set(all.flatMap((fact) => (isOpen(fact) ? [] : [fact.id])));
  return all.filter(({ id }) => !closed.has(id));
}
