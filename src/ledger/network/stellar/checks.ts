/**
 * The checks of `npm run ledger:check` for a Stellar network: contracts, roles, and the number of writes that
 * the lumens pay for.
 */
import type { NetworkCall } from '../port.ts';
import { smallest } from '../../../lib/bigints.ts';
import { runCheck, pass, TRIAL_DEPLOY, TRIAL_HASH, warn, fail } from '../check.ts';
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

interface CheckContext extends DraftingDeps {
  options: StellarNetworkOptions;
}

/** @throws Error for invalid keys and addresses */
export async function* checkStellarNetwork(options: StellarNetworkOptions): AsyncGenerator<Check> {
  const context: CheckContext = { ...assembleParts(options), options };
  const checks: [string, (context: CheckContext) => Promise<Check>][] = [
    ['fees', checkFees],
    ['funds', checkFunds],
    ['channels', checkChannels],
    ['token factory', checkFactory],
    ['settlement factory', checkSettlementFactory],
    ['settlement roles', checkRoles],
  ];
  for (const [name, run] of checks) yield await runCheck(name, () => run(context));
}

async function checkFees({ node, maxInclusionFeeStroops: cap }: CheckContext): Promise<Check> {
  const { usualStroops: usual } = await node.inclusionFees();
  const found = `${usual} stroops are bid to be included, under a cap of ${cap}`;
  if (usual <= cap) return pass('fees', found);
  return fail('fees', `${usual} stroops are bid to be included, above the cap of ${cap}: writes wait`);
}

async function checkFunds({ node, keys }: CheckContext): Promise<Check> {
  const custody = keys.custody.publicKey();
  const account = (await readAccounts(node, [custody])).byAddress.get(custody);
  if (!account) return fail('funds', `the account ${custody} does not exist`, 'Send it XLM.');
  const { spendableStroops } = account;
  const found = `${custody} has ${describeFunds(spendableStroops)}`;
  const remedy = 'Send it more XLM.';
  if (keys.sources.has(custody) && !hasEnoughToSign(spendableStroops)) return fail('funds', found, remedy);
  return writesOf(spendableStroops) < FEW_WRITES ? warn('funds', found, remedy) : pass('funds', found);
}

async function checkChannels({ options }: CheckContext): Promise<Check> {
  const channels = await readChannels(options);
  if (channels.length === 0) {
    return warn(
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
      ? fail('channels', found, remedy)
      : warn('channels', `${found}; the others sign`, remedy);
  }
  const poor = channels.filter(({ spendableStroops }) => writesOf(spendableStroops) < FEW_WRITES);
  const least = smallest(...channels.map(({ spendableStroops }) => spendableStroops));
  const found = `${channels.length}, with at least ${describeFunds(least)}`;
  if (poor.length === 0) return pass('channels', found);
  const remedy = `Send more XLM to ${listOf(poor)}.`;
  const isSigned = channels.some(({ spendableStroops }) => hasEnoughToSign(spendableStroops));
  return isSigned ? warn('channels', found, remedy) : fail('channels', found, remedy);
}

async function checkFactory(context: CheckContext): Promise<Check> {
  await simulateAsCustody(context, TRIAL_DEPLOY);
  return pass('token factory', `${context.contracts.factoryAddress} would deploy a token`);
}

async function checkSettlementFactory(context: CheckContext): Promise<Check> {
  const { settlementFactoryAddress: factory } = context.contracts;
  if (factory === null) return pass('settlement factory', 'none is configured');
  const treasury = context.keys.custody.publicKey();
  await simulateAsCustody(context, { kind: 'deployRampSettlement', salt: TRIAL_HASH, treasury });
  return pass('settlement factory', `${factory} would deploy a settlement contract`);
}

/** Custody must be the settler, which releases deposits, and the manager, which refunds them. */
async function checkRoles({ reads, contracts, keys }: CheckContext): Promise<Check> {
  const { settlementAddress } = contracts;
  if (settlementAddress === null) return pass('settlement roles', 'no settlement contract is configured');
  const custody = keys.custody.publicKey();
  for (const role of ['Settler', 'Manager']) {
    const holder = await reads.roleHolder(settlementAddress, role);
    if (holder === null) {
      return warn(
        'settlement roles',
        `${settlementAddress} does not show who is its ${role}`,
        'See for yourself that custody is its settler and manager.',
      );
    }
    if (holder !== custody) {
      return fail('settlement roles', `the ${role} of ${settlementAddress} is ${holder}, not custody`);
    }
  }
  return pass('settlement roles', 'custody may confirm and refund deposits');
}

async function simulateAsCustody(context: CheckContext, call: NetworkCall): Promise<void> {
  await simulateCall(context, call, context.keys.custody.publicKey());
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
