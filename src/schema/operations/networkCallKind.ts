/**
 * NetworkCallKind: the contract calls of the platform and of holders.
 */
import type { NetworkCallKind } from '../../ledger/network/port.ts';
import { enumOf } from '../core/enums.ts';

export const NetworkCallKindEnum = enumOf<NetworkCallKind>(
  'NetworkCallKind',
  'The kind of a contract call on the network.',
  {
    deployCarbonCredit: "Deploys a project's token.",
    deployCommodityReceipt: "Deploys a receipt's token.",
    mint: 'Mints the whole quantity of a token.',
    retire: 'Burns credits and records their retirement.',
    markExpired: 'Marks a receipt as expired.',
    deployRampSettlement: 'Deploys the settlement contract.',
    setAllowance: 'Lets the settlement contract take the tokens of a deposit. Only on networks that need it.',
    depositOffRamp: 'Deposits receipt tokens into the settlement contract.',
    confirmOffRampSettlement: 'Releases a deposit to the treasury.',
    refundOffRamp: 'Refunds a deposit to its depositor.',
  },
);

/** The kind of a stored submission, which is its call's kind. */
export function kindOf({ kind }: { kind: string }): NetworkCallKind {
  return kind as NetworkCallKind;
}
