/**
 * NetworkCallKind: the contract calls of the platform and of holders.
 */
import type { NetworkCallKind } from '../../ledger/network/port.ts';
import { builder } from '../core/builder.ts';

const KINDS = {
  DEPLOY_CARBON_CREDIT: { value: 'deployCarbonCredit', description: "Deploys a project's token." },
  DEPLOY_COMMODITY_RECEIPT: { value: 'deployCommodityReceipt', description: "Deploys a receipt's token." },
  MINT: { value: 'mint', description: 'Mints the whole quantity of a token.' },
  RETIRE: { value: 'retire', description: 'Burns credits and records their retirement.' },
  MARK_EXPIRED: { value: 'markExpired', description: 'Marks a receipt as expired.' },
  DEPLOY_RAMP_SETTLEMENT: { value: 'deployRampSettlement', description: 'Deploys the settlement contract.' },
  SET_ALLOWANCE: {
    value: 'setAllowance',
    description: 'Lets the settlement contract take the tokens of a deposit. Only on networks that need it.',
  },
  DEPOSIT_OFF_RAMP: {
    value: 'depositOffRamp',
    description: 'Deposits receipt tokens into the settlement contract.',
  },
  CONFIRM_OFF_RAMP_SETTLEMENT: {
    value: 'confirmOffRampSettlement',
    description: 'Releases a deposit to the treasury.',
  },
  REFUND_OFF_RAMP: { value: 'refundOffRamp', description: 'Refunds a deposit to its depositor.' },
} as const satisfies Record<string, { value: NetworkCallKind; description: string }>;

export const NetworkCallKindEnum = builder.enumType('NetworkCallKind', {
  description: 'The kind of a contract call on the network.',
  values: KINDS,
});

/** The kind of a stored submission, which is its call's kind. */
export function kindOf({ kind }: { kind: string }): NetworkCallKind {
  return kind as NetworkCallKind;
}
