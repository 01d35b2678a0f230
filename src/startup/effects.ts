/**
 * The effects of each kind of submission when the network's final word settles it, by signer, target and
 * call.
 */
import type { ChangeSignal } from '../db/changeSignal.ts';
import type { FeedDependencies } from '../feed/fillToken.ts';
import type { FeedFiller } from '../feed/feedFiller.ts';
import { expiryEffects } from '../jobs/expiryEffects.ts';
import type { EffectsTable } from '../ledger/submission/effects.ts';
import type { IdSource } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { projectToken } from '../resolvers/carbon/createProject.ts';
import { retireEffects, showInFeed } from '../resolvers/carbon/retirementEffects.ts';
import { mintEffects, tokenDeployEffects } from '../resolvers/core/tokenEffects.ts';
import { settlementDeployEffects } from '../resolvers/operations/deployRampSettlement.ts';
import { holderDepositEffects, holderRetireEffects, NO_EFFECTS } from '../resolvers/wallets/holderEffects.ts';
import {
  allowanceEffects,
  depositEffects,
  releaseEffects,
} from '../resolvers/warehouse/offRamp/offRampEffects.ts';
import { receiptToken } from '../resolvers/warehouse/createDeposit.ts';

interface EffectsDependencies extends Omit<FeedDependencies, 'feedSignal'> {
  ids: IdSource;
  stateSignal: ChangeSignal;
  feed: FeedDependencies;
  feedFiller: FeedFiller;
  log: Logger;
}

export function createEffects(deps: EffectsDependencies): EffectsTable {
  const projects = projectToken(deps);
  const receipts = receiptToken(deps);
  return {
    CUSTODY: {
      PROJECT: {
        deployCarbonCredit: tokenDeployEffects(deps, projects),
        mint: mintEffects(projects),
      },
      RETIREMENT: { retire: retireEffects(deps) },
      RECEIPT: {
        deployCommodityReceipt: tokenDeployEffects(deps, receipts),
        mint: mintEffects(receipts),
        markExpired: expiryEffects(deps),
      },
      OFF_RAMP_SESSION: {
        setAllowance: allowanceEffects(deps),
        depositOffRamp: depositEffects(deps),
        confirmOffRampSettlement: releaseEffects(deps, 'SETTLED'),
        refundOffRamp: releaseEffects(deps, 'REFUNDED'),
      },
      SETTLEMENT_DEPLOYMENT: { deployRampSettlement: settlementDeployEffects(deps) },
    },
    HOLDER: {
      HOLDER_ACT: {
        retire: holderRetireEffects(showInFeed(deps)),
        setAllowance: NO_EFFECTS,
      },
      OFF_RAMP_SESSION: { depositOffRamp: holderDepositEffects(deps) },
    },
  };
}
