/**
 * What can be seen of a network through the port alone, whichever it is, and what its family adds.
 */
import type { Config } from '../config.ts';
import { messageOf } from '../errors.ts';
import { systemClock, unixSeconds } from '../clock.ts';
import { lookAt, right, worse, wrong, type Check } from '../ledger/network/check.ts';
import type { LedgerNetwork } from '../ledger/network/port.ts';
import type { LedgerConfig } from '../ledgerConfig.ts';
import { refuseForeignTreasury, type CreatedNetwork } from '../openNetwork.ts';

/** Stellar closes a ledger every five seconds, whether anything happens or not. */
const STELLAR_MAX_AGE_SECONDS = 60;
/** Final blocks are a quarter of an hour old where the chain itself decides, and older where nothing happens. */
const EVM_MAX_AGE_SECONDS = 3600;
/** More than clocks differ that are set by the network. */
const MAX_CLOCK_DIFFERENCE_SECONDS = 60;

export async function* checkNetwork(config: Config, created: CreatedNetwork): AsyncGenerator<Check> {
  const { network, checkIdentity } = created;
  const { ledger } = config;
  yield right('network', `${network.name} (${network.networkId})`);
  yield right('custody', network.custodyAddress);
  yield checkTreasury(config, network);
  if (checkIdentity !== null) {
    const identity = await lookAt('node', async () => {
      await checkIdentity();
      return right('node', `${hostOf(ledger)} answers, and belongs to this network`);
    });
    yield identity;
    // What a wrong node says about the rest means nothing, and one that is away says nothing.
    if (identity.verdict === 'wrong') return;
  }
  yield await lookAt('latest ledger', () => checkLatestLedger(ledger, network));
  yield* checkFamily(ledger);
  yield await lookAt('settlement', () => checkSettlement(config, network));
}

/** What to do about what an adapter finds: it knows nothing of settings. */
const REMEDIES: Readonly<Record<string, string>> = {
  finality: 'Use a node that knows the final block, or set LEDGER_FINALITY to a number of confirmations.',
  fees: 'Raise the cap (LEDGER_MAX_FEE_GWEI, LEDGER_MAX_INCLUSION_FEE_STROOPS), or wait.',
  channels: '(npm run ledger:channels -- --count 20 makes them, and tops them up.)',
  'token factory': 'Correct LEDGER_FACTORY_ADDRESS.',
  'settlement factory': 'Correct LEDGER_SETTLEMENT_FACTORY_ADDRESS.',
  'settlement roles':
    'Give custody its roles at the settlement contract, or correct RAMP_SETTLEMENT_ADDRESS.',
};

/** What only the family's own adapter knows to look at. */
async function* checkFamily(ledger: LedgerConfig): AsyncGenerator<Check> {
  for await (const check of familyChecks(ledger)) {
    const hints = [check.remedy, check.verdict === 'right' ? undefined : REMEDIES[check.subject]];
    const remedy = hints.filter((hint) => hint !== undefined).join(' ');
    yield remedy === '' ? check : { ...check, remedy };
  }
}

async function* familyChecks(ledger: LedgerConfig): AsyncGenerator<Check> {
  if (ledger.family === 'evm') {
    const { checkEvmNetwork } = await import('../ledger/network/evm/checks.ts');
    yield* checkEvmNetwork(ledger);
  }
  if (ledger.family === 'stellar') {
    const { checkStellarNetwork } = await import('../ledger/network/stellar/checks.ts');
    yield* checkStellarNetwork(ledger);
  }
}

function checkTreasury(config: Config, network: LedgerNetwork): Check {
  try {
    refuseForeignTreasury(network, config.TREASURY_ADDRESS);
    return right('treasury', 'the custody signer, which burns from its own balance');
  } catch (error) {
    return wrong('treasury', messageOf(error));
  }
}

async function checkLatestLedger(ledger: LedgerConfig, network: LedgerNetwork): Promise<Check> {
  const status = await network.status();
  const ageSeconds = Number(unixSeconds(systemClock.now()) - status.closedAt);
  const found = `${status.ledger}, closed ${describeAge(ageSeconds)}; history back to ${status.oldestLedger}`;
  if (ledger.family === 'embedded') return right('latest ledger', found);
  if (ageSeconds < -MAX_CLOCK_DIFFERENCE_SECONDS) {
    return worse('latest ledger', found, 'Set this machine’s clock: tokens of callers expire by it.');
  }
  if (ledger.family === 'stellar' && ageSeconds > STELLAR_MAX_AGE_SECONDS) {
    return wrong(
      'latest ledger',
      found,
      'The node is behind the network (or this machine’s clock is wrong): use another in LEDGER_RPC_URL, or wait.',
    );
  }
  if (ledger.family === 'evm' && ageSeconds > EVM_MAX_AGE_SECONDS) {
    return worse(
      'latest ledger',
      found,
      'The chain is idle, or the node behind it. Nothing becomes final while no block follows: see LEDGER_FINALITY.',
    );
  }
  return right('latest ledger', found);
}

function describeAge(seconds: number): string {
  return seconds < 0 ? `${-seconds} s ahead of this machine’s clock` : `${seconds} s ago`;
}

async function checkSettlement(config: Config, network: LedgerNetwork): Promise<Check> {
  const { ledger, RAMP_SETTLEMENT_ADDRESS: configured } = config;
  const settlement = await network.settlementContract();
  if (settlement === null && configured !== undefined) {
    return wrong(
      'settlement',
      `no settlement contract stands at ${configured}`,
      'Correct RAMP_SETTLEMENT_ADDRESS, or leave it out.',
    );
  }
  if (settlement === null) {
    const canDeploy = ledger.family === 'embedded' || ledger.settlementFactoryAddress !== undefined;
    return worse(
      'settlement',
      'none: cash-outs are refused',
      (canDeploy ? '' : 'Set LEDGER_SETTLEMENT_FACTORY_ADDRESS. ') +
        'Set RAMP_SETTLEMENT_ADDRESS to what the mutation deployRampSettlement answers; it deploys one contract once.',
    );
  }
  const { address, treasury, paused } = settlement;
  if (paused)
    return worse('settlement', `${address} is paused: cash-outs are refused`, 'Unpause the contract.');
  return right('settlement', `${address}, which releases to ${nameOfTreasury(treasury, network)}`);
}

function nameOfTreasury(treasury: string | null, network: LedgerNetwork): string {
  if (treasury === null) return 'a treasury that it does not tell';
  return treasury === network.custodyAddress ? 'custody' : treasury;
}

/** Of the node's address the host alone: its path may hold a key. */
function hostOf(ledger: LedgerConfig): string {
  return ledger.family === 'embedded' ? '' : new URL(ledger.rpcUrl).host;
}
