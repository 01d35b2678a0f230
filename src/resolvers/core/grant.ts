/**
 * A second person's approval, handed to the use case that it lets run.
 */
import type { Tx } from '../../db/connection.ts';

export interface Grant {
  /** The request for approval; what is created gets this id. */
  requestId: string;
  /**
   * Ends the request, in the transaction of the operation's effect: both are committed, or neither.
   * @throws DomainError CONFLICT when it does not await approval any more, or what it is about has changed
   */
  confirm(tx: Tx): Promise<void>;
}
