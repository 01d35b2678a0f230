/**
 * A posting: one movement of credits between two accounts of a project, as it is to be booked.
 */
import type { transfers } from '../../db/tables/index.ts';

export type TransferKind = (typeof transfers.kind.enumValues)[number];

/** An account, named by its purpose. Only buyers' accounts exist more than once per project. */
export type AccountRef =
  { kind: 'issuance' | 'inventory' | 'retiring' | 'retired' } | { kind: 'buyer'; buyerId: string };

/** The project whose accounts are meant, by its id or by its token's normalised address. */
export type ProjectName = { projectId: string } | { tokenAddress: string };

export type Posting = ProjectName & {
  /** The transfer's id, made by the caller. */
  id: string;
  kind: TransferKind;
  /**
   * What it belongs to: the project, the purchase (which is the transfer itself) or the retirement. Each kind posts once
   * per reference.
   */
  referenceId: string;
  debit: AccountRef;
  credit: AccountRef;
  /** Whole tonnes, positive. */
  amount: bigint;
};
