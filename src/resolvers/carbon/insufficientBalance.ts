/**
 * The error INSUFFICIENT_BALANCE: one message, whether the books or the network hold the credits.
 */
import { DomainError } from '../../lib/errors.ts';

interface Shortage {
  /** The operation that the credits were for. */
  verb: 'retired' | 'transferred';
  /** The holder's name in the message, such as `buyer acme`. */
  holder: string;
  tokenAddress: string;
  /** Whole tonnes. */
  requested: bigint;
  /** Whole tonnes. */
  available: bigint;
}

export function insufficientBalance(shortage: Shortage): DomainError {
  const { verb, holder, tokenAddress, requested, available } = shortage;
  return new DomainError(
    'INSUFFICIENT_BALANCE',
    `Of token ${tokenAddress}, ${holder} holds ${available} t, less than the ${requested} t to be ${verb}.`,
    { field: 'input.amountCO2e', requested: requested.toString(), available: available.toString() },
  );
}
