/**
 * Checks a network through the port, for every family, and adds the family's own checks.
 */
import type { Config } from '../config/config.ts';
import { messageOf } from '../lib/errors.ts';
import { systemClock, unixSeconds } from '../lib/clock.ts';
import { runCheck, pass, warn, fail, type Check } from '../ledger/network/check.ts';
import { awaitReorgConfirmation } from '../ledger/network/continuity.ts';
import { familyOf } from '../ledger/network/families.ts';
import type { ConfiguredLedger, CreatedNetwork } from '../ledger/network/family.ts';
import { NetworkBehind, type LedgerNetwork } from '../ledger/network/port.ts';
import { refuseForeignTreasury } from '../startup/openNetwork.ts';

/** Clocks that are set by a time server differ less. */
const MAX_CLOCK_DIFFERENCE_SECONDS = 60;

export async function* checkNetwork(config: Config, created: CreatedNetwork): AsyncGenerator<Check> {
  const { network, checkIdentity } = created;
  const { ledger } = config;
  yield pass('network', `${network.name} (${network.networkId})`);
  yield pass('custody', network.custodyAddress);
  yield checkTreasury(config, network);
  if (checkIdentity !== null) {
    const identity = await runCheck('node', async () => {
      await checkIdentity();
      return pass('node', `${hostOf(ledger)} answers, and belongs to this network`);
    });
    yield identity;
    // A wrong node's other answers mean nothing, and an unavailable node gives none.
    if (identity.result === 'fail') return;
  }
  await awaitReorgConfirmation(network);
  yield await runCheck('latest ledger', () => checkLatestLedger(ledger, network));
  // A network in the database goes back together with it.
  if (familyOf(ledger).migrations.length === 0) yield await runCheck('history', () => checkHistory(network));
  yield* checkFamily(ledger);
  yield await runCheck('settlement', () => checkSettlement(config, network));
}

const BEHIND_REMEDY =
  'Wait for the node, or use another in LEDGER_RPC_URL. If the chain itself was rolled back, nothing is read or signed ' +
  'until it has passed that block again.';
const REWRITTEN_REMEDY =
  'Run npm run reconcile and compare what landed with the chain; then an operator calls resumeSigning, which accepts the ' +
  'present history.';

/** Remedies for an adapter's findings that depend on settings shared by the families. */
const SHARED_REMEDIES: Readonly<Record<string, string>> = {
  'token factory': 'Correct LEDGER_FACTORY_ADDRESS.',
  'settlement factory': 'Correct LEDGER_SETTLEMENT_FACTORY_ADDRESS.',
  'settlement roles':
    'Give custody its roles at the settlement contract, or correct RAMP_SETTLEMENT_ADDRESS.',
};

/** The checks that only the family's adapter can make. */
async function* checkFamily(ledger: ConfiguredLedger): AsyncGenerator<Check> {
  const family = familyOf(ledger);
  const remedies = { ...SHARED_REMEDIES, ...family.remedies };
  for await (const check of family.check(ledger)) {
    const hints = [check.remedy, check.result === 'pass' ? undefined : remedies[check.name]];
    const remedy = hints.filter((hint) => hint !== undefined).join(' ');
    yield remedy === '' ? check : { ...check, remedy };
  }
}

function checkTreasury(config: Config, network: LedgerNetwork): Check {
  try {
    refuseForeignTreasury(network, config.TREASURY_ADDRESS);
    return pass('treasury', 'the custody signer, which burns from its own balance');
  } catch (error) {
    return fail('treasury', messageOf(error));
  }
}

async function checkLatestLedger(ledger: ConfiguredLedger, network: LedgerNetwork): Promise<Check> {
  const status = await network.status();
  const ageSeconds = Number(unixSeconds(systemClock.now()) - status.closedAt);
  const found = `${status.ledger}, closed ${describeAge(ageSeconds)}; history back to ${status.oldestLedger}`;
  const { stale } = familyOf(ledger);
  if (stale === null) return pass('latest ledger', found);
  if (ageSeconds < -MAX_CLOCK_DIFFERENCE_SECONDS) {
    return warn('latest ledger', found, 'Set this machine’s clock: tokens of callers expire by it.');
  }
  if (ageSeconds <= stale.afterSeconds) return pass('latest ledger', found);
  return { result: stale.result, name: 'latest ledger', found, remedy: stale.remedy };
}

async function checkHistory(network: LedgerNetwork): Promise<Check> {
  try {
    const continuity = await network.continuity();
    if (continuity.status === 'whole') return pass('history', 'what was seen to be final is still so');
    return fail('history', continuity.message, REWRITTEN_REMEDY);
  } catch (error) {
    if (!(error instanceof NetworkBehind)) throw error;
    return fail('history', error.message, BEHIND_REMEDY);
  }
}

function describeAge(seconds: number): string {
  return seconds < 0 ? `${-seconds} s ahead of this machine’s clock` : `${seconds} s ago`;
}

async function checkSettlement(config: Config, network: LedgerNetwork): Promise<Check> {
  const { ledger, RAMP_SETTLEMENT_ADDRESS: configured } = config;
  const settlement = await network.settlementContract();
  if (settlement === null && configured !== undefined) {
    return fail(
      'settlement',
      `no settlement contract stands at ${configured}`,
      'Correct RAMP_SETTLEMENT_ADDRESS, or leave it out.',
    );
  }
  if (settlement === null) {
    // A network without a node has its factory itself.
    const lacksFactory = 'rpcUrl' in ledger && ledger.settlementFactoryAddress === undefined;
    return warn(
      'settlement',
      'none: cash-outs are refused',
      (lacksFactory ? 'Set LEDGER_SETTLEMENT_FACTORY_ADDRESS. ' : '') +
        'Set RAMP_SETTLEMENT_ADDRESS to what the mutation deployRampSettlement answers; it deploys one contract once.',
    );
  }
  const { address, treasury, paused } = settlement;
  if (paused)
    return warn('settlement', `${address} is paused: cash-outs are refused`, 'Unpause the contract.');
  return pass('settlement', `${address}, which releases to ${nameOfTreasury(treasury, network)}`);
}

function nameOfTreasury(treasury: string | null, network: LedgerNetwork): string {
  if (treasury === null) return 'a treasury that it does not show';
  return treasury === network.custodyAddress ? 'custody' : treasury;
}

/** Shows only the host of the node's address: its path may hold a key. */
function hostOf({ rpcUrl }: ConfiguredLedger): string {
  return rpcUrl === undefined ? '' : new URL(rpcUrl).host;
}
