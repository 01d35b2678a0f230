/**
 * The checks of `npm run ledger:check` for a Stellar network: contracts, roles, and the number of writes that
 * the lumens pay for.
 */
import type { NetworkCall } from '../port.ts';
import { smallest } from '../../../lib/bigints.ts';
import { lookAt, right, TRIAL_DEPLOY, TRIAL_HASH, worse, wrong } from '../check.ts';
import type { ChannelState } from '../channelAccounts.ts';
import type { Check } from '../check.ts';
import { readAccounts } from './accounts.ts';
import { readChannels } from './channels.ts';
import { hasEnoughToSign, MIN_SPENDABLE_STROOPS, STROOPS_PER_WRITE, showXlm } from './lumens.ts';
import { simulateCall } from './draft.ts';
import type { DraftingDeps } from './draft.ts';
import { assembleParts } from './options.ts';
import type { StellarNetworkOptions } from './options.ts';

/** Writes of a quiet platform in a day. */
const FEW_WRITES = 50n;

interface Looking extends DraftingDeps {
  options: StellarNetworkOptions;
}

/** @throws Error for invalid keys and addresses */
export async function* checkStellarNetwork(options: StellarNetworkOptions): AsyncGenerator<Check> {
  const looking: Looking = { ...assembleParts(options), options };
  const looks: [string, (looking: Looking) => Promise<Check>][] = [
    ['fees', lookAtFees],
    ['funds', lookAtFunds],
    ['channels', lookAtChannels],
    ['token factory', lookAtFactory],
    ['settlement factory', lookAtSettlementFactory],
    ['settlement roles', lookAtRoles],
  ];
  for (const [name, look] of looks) yield await lookAt(name, () => look(looking));
}

async function lookAtFees({ node, maxInclusionFeeStroops: cap }: Looking): Promise<Check> {
  const { usualStroops: usual } = await node.inclusionFees();
  const found = `${usual} stroops are bid to be included, under a cap of ${cap}`;
  if (usual <= cap) return right('fees', found);
  return wrong('fees', `${usual} stroops are bid to be included, above the cap of ${cap}: writes wait`);
}

async function lookAtFunds({ node, keys }: Looking): Promise<Check> {
  const custody = keys.custody.publicKey();
  const account = (await readAccounts(node, [custody])).byAddress.get(custody);
  if (!account) return wrong('funds', `the account ${custody} does not exist`, 'Send it XLM.');
  const { spendableStroops } = account;
  const found = `${custody} has ${describeFunds(spendableStroops)}`;
  const remedy = 'Send it more XLM.';
  if (keys.sources.has(custody) && !hasEnoughToSign(spendableStroops)) return wrong('funds', found, remedy);
  return writesOf(spendableStroops) < FEW_WRITES ? worse('funds', found, remedy) : right('funds', found);
}

async function lookAtChannels({ options }: Looking): Promise<Check> {
  const channels = await readChannels(options);
  if (channels.length === 0) {
    return worse(
      'channels',
      'none: custody makes one write per ledger, about every five seconds',
      'Configure channel accounts to make more at once.',
    );
  }
  const missing = channels.filter(({ balanceStroops }) => balanceStroops === null);
  if (missing.length > 0) {
    const found = `${missing.length} of ${channels.length} do not exist: ${listOf(missing)}`;
    const remedy = 'Make them with custody’s XLM, or leave them out.';
    return missing.length === channels.length
      ? wrong('channels', found, remedy)
      : worse('channels', `${found}; the others sign`, remedy);
  }
  const poor = channels.filter(({ spendableStroops }) => writesOf(spendableStroops) < FEW_WRITES);
  const least = smallest(...channels.map(({ spendableStroops }) => spendableStroops));
  const found = `${channels.length}, with at least ${describeFunds(least)}`;
  if (poor.length === 0) return right('channels', found);
  const remedy = `Send more XLM to ${listOf(poor)}.`;
  const isSigned = channels.some(({ spendableStroops }) => hasEnoughToSign(spendableStroops));
  return isSigned ? worse('channels', found, remedy) : wrong('channels', found, remedy);
}

async function lookAtFactory(looking: Looking): Promise<Check> {
  await simulateAsCustody(looking, TRIAL_DEPLOY);
  return right('token factory', `${looking.contracts.factoryAddress} would deploy a token`);
}

async function lookAtSettlementFactory(looking: Looking): Promise<Check> {
  const { settlementFactoryAddress: factory } = looking.contracts;
  if (factory === null) return right('settlement factory', 'none is configured');
  const treasury = looking.keys.custody.publicKey();
  await simulateAsCustody(looking, { kind: 'deployRampSettlement', salt: TRIAL_HASH, treasury });
  return right('settlement factory', `${factory} would deploy a settlement contract`);
}

/** Custody must be the settler, which releases deposits, and the manager, which refunds them. */
async function lookAtRoles({ reads, contracts, keys }: Looking): Promise<Check> {
  const { settlementAddress } = contracts;
  if (settlementAddress === null) return right('settlement roles', 'no settlement contract is configured');
  const custody = keys.custody.publicKey();
  for (const role of ['Settler', 'Manager']) {
    const holder = await reads.roleHolder(settlementAddress, role);
    if (holder === null) {
      return worse(
        'settlement roles',
        `${settlementAddress} does not show who is its ${role}`,
        'See for yourself that custody is its settler and manager.',
      );
    }
    if (holder !== custody) {
      return wrong('settlement roles', `the ${role} of ${settlementAddress} is ${holder}, not custody`);
    }
  }
  return right('settlement roles', 'custody may confirm and refund deposits');
}

async function simulateAsCustody(looking: Looking, call: NetworkCall): Promise<void> {
  await simulateCall(looking, call, looking.keys.custody.publicKey(), undefined);
}

function listOf(channels: readonly ChannelState[]): string {
  return channels.map(({ address }) => address).join(', ');
}

function describeFunds(spendableStroops: bigint): string {
  const found = `${showXlm(spendableStroops)} XLM to spend`;
  return hasEnoughToSign(spendableStroops)
    ? `${found}, enough for about ${writesOf(spendableStroops)} writes`
    : `${found}, and signs nothing with less than ${showXlm(MIN_SPENDABLE_STROOPS)}`;
}

function writesOf(spendableStroops: bigint): bigint {
  return spendableStroops / STROOPS_PER_WRITE;
}
