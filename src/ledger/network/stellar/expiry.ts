/**
 * Checks whether a receipt may be marked expired. The deployed contract marks any receipt at its manager's
 * call, so its expiry date is read first.
 */
import { NetworkRefusal } from '../port.ts';
import type { Address, Refusal } from '../port.ts';
import type { ContractReads } from './contractReads.ts';
import { asEnumName, plain } from './scvals.ts';

/**
 * @throws NetworkRefusal NOT_EXPIRED, or WRONG_STATUS if the receipt is marked already; NetworkUnavailable
 */
export async function requireExpired(
  { reads }: { reads: Pick<ContractReads, 'ask'> },
  token: Address,
): Promise<void> {
  const refusal = await explainExpiry(reads, token);
  if (refusal) throw new NetworkRefusal(refusal);
}

/**
 * The reason why the receipt may not be marked, if the contract gives one.
 * @throws NetworkUnavailable
 */
export async function explainExpiry(
  reads: Pick<ContractReads, 'ask'>,
  token: Address,
): Promise<Refusal | null> {
  const [status, isExpired] = await Promise.all([reads.ask(token, 'status'), reads.ask(token, 'is_expired')]);
  if (status.ok && asEnumName(plain(status.value), 'status') === 'Expired') {
    return { reason: 'WRONG_STATUS', message: `${token} is already Expired` };
  }
  if (isExpired.ok && plain(isExpired.value) === false) {
    return { reason: 'NOT_EXPIRED', message: `${token} has not passed its expiry date by the ledger's time` };
  }
  return null;
}
