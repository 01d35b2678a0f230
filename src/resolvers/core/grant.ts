/**
 * A second person's approval. It is passed to the use case that the approval allows to run.
 */
import type { Tx } from '../../db/connection.ts';

export interface Grant {
  /** The request for approval. The created row gets the same id. */
  requestId: string;
  /**
   * Ends the request in the transaction of the operation's effect: both are committed, or neither.
   * @throws DomainError CONFLICT when the request no longer awaits approval, or its subject matter has
   *   changed
   */
  confirm(tx: Tx): Promise<void>;
}
