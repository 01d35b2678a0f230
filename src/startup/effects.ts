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

type EffectsDependencies = Omit<FeedDependencies, 'feedSignal'> & {
  ids: IdSource;
  stateSignal: ChangeSignal;
  feed: FeedDependencies;
  feedFiller: FeedFiller;
  log: Logger;
};

export function createEffects({
  db,
  network,
  clock,
  ids,
  stateSignal,
  feed,
  feedFiller,
  log,
}: EffectsDependencies): EffectsTable {
  const ofRetirements = { ids, feed, feedFiller, log };
  const ofTokens = { network, clock, ids };
  const projects = projectToken({ network, ids });
  const receipts = receiptToken({ network });
  const ofOffRampSession = { db, network, clock, ids, stateSignal };
  return {
    CUSTODY: {
      PROJECT: {
        deployCarbonCredit: tokenDeployEffects(ofTokens, projects),
        mint: mintEffects(projects),
      },
      RETIREMENT: { retire: retireEffects(ofRetirements) },
      RECEIPT: {
        deployCommodityReceipt: tokenDeployEffects(ofTokens, receipts),
        mint: mintEffects(receipts),
        markExpired: expiryEffects({ clock, log }),
      },
      OFF_RAMP_SESSION: {
        setAllowance: allowanceEffects(ofOffRampSession),
        depositOffRamp: depositEffects(ofOffRampSession),
        confirmOffRampSettlement: releaseEffects(ofOffRampSession, 'SETTLED'),
        refundOffRamp: releaseEffects(ofOffRampSession, 'REFUNDED'),
      },
      SETTLEMENT_DEPLOYMENT: { deployRampSettlement: settlementDeployEffects({ network }) },
    },
    HOLDER: {
      HOLDER_ACT: {
        retire: holderRetireEffects(showInFeed(ofRetirements)),
        setAllowance: NO_EFFECTS,
      },
      OFF_RAMP_SESSION: { depositOffRamp: holderDepositEffects(ofOffRampSession) },
    },
  };
}
