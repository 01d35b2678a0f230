/**
 * Which refusals end a deploy, and which an operator reviews. A deploy under review keeps its intent and continues
 * when it is resumed.
 */
import type { Refusal } from '../../ledger/network/port.ts';

export function stateOfRefusedDeploy({ reason }: Refusal): 'REFUSED' | 'NEEDS_REVIEW' {
  // A used salt: this platform deployed it before. A fee above the cap: the operator raises the cap, or waits.
  return reason === 'SALT_ALREADY_USED' || reason === 'FEE_ABOVE_CAP' ? 'NEEDS_REVIEW' : 'REFUSED';
}
