/**
 * The network's total order: ledger, transaction and operation in one number, as 19 digits.
 */
export function toid(ledger: number, transaction: number, operation: number): string {
  const id = (BigInt(ledger) << 32n) | (BigInt(transaction) << 12n) | BigInt(operation);
  return String(id).padStart(19, '0');
}
