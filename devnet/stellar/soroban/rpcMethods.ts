/**
 * The JSON-RPC methods of a Stellar RPC node.
 */
import { xdr } from '@stellar/stellar-sdk';
import { z } from 'zod';
import type { Chain } from './chain.ts';
import type { OpenedTransaction } from './envelopes.ts';
import { readEvents } from './eventQueries.ts';
import { strikes } from './faults.ts';
import type { Faults } from './faults.ts';
import { feeStats } from './feeStats.ts';
import { ledgerCloseMeta, ledgerHash, ledgerHeader } from './history.ts';
import type { ClosedLedger } from './history.ts';
import { hasTimeToLive, idOf } from './ledgerKeys.ts';
import { MAX_LAG } from './ledgerState.ts';
import { rejectionResult } from './results.ts';
import { AnswerLost, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from './rpcErrors.ts';
import { simulate } from './simulation.ts';
import type { SimulationDeps } from './simulation.ts';
import { readTransaction, readTransactions } from './transactionQueries.ts';

interface NodeDeps {
  chain: Chain;
  faults: Faults;
  simulation: SimulationDeps;
  retentionLedgers: number;
  friendbotUrl: () => string | null;
}

/** The public limit. */
const MAX_KEYS = 200;

export function callMethod(deps: NodeDeps, method: string, params: unknown): unknown {
  switch (method) {
    case 'getHealth':
      return health(deps);
    case 'getNetwork': {
      const { passphrase, protocolVersion } = deps.chain;
      const friendbotUrl = deps.friendbotUrl();
      return { ...(friendbotUrl ? { friendbotUrl } : {}), passphrase, protocolVersion };
    }
    case 'getVersionInfo':
      return {
        version: '0.0.0-simulator',
        commitHash: '',
        buildTimestamp: '',
        captiveCoreVersion: '',
        protocolVersion: deps.chain.protocolVersion,
      };
    case 'getLatestLedger':
      return latestLedger(deps);
    case 'getLedgerEntries':
      return ledgerEntries(deps, params);
    case 'simulateTransaction':
      return simulateTransaction(deps, params);
    case 'sendTransaction':
      return sendTransaction(deps, params);
    case 'getTransaction': {
      const { hash } = parse(hashSchema, params);
      return readTransaction(deps.chain, visible(deps), hash, () => strikes(deps.faults, 'denyTransactions'));
    }
    case 'getTransactions':
      return readTransactions(deps.chain, visible(deps), params);
    case 'getEvents':
      return readEvents(deps.chain, visible(deps).sequence, params);
    case 'getFeeStats':
      return feeStats(deps.chain, visible(deps).sequence);
    default:
      throw new RpcError(METHOD_NOT_FOUND, 'method not found');
  }
}

/** The newest ledger that this node knows. */
function visible({ chain, faults }: NodeDeps): ClosedLedger {
  const { sequence } = chain.history.latest();
  const seen = Math.max(chain.history.oldest(sequence), sequence - Math.min(faults.lagLedgers, MAX_LAG));
  return { sequence: seen, closedAt: chain.history.closedAt(seen) };
}

function health(deps: NodeDeps): unknown {
  const { sequence, closedAt } = visible(deps);
  const oldest = deps.chain.history.oldest(sequence);
  return {
    status: 'healthy',
    latestLedger: sequence,
    latestLedgerCloseTime: Number(closedAt),
    oldestLedger: oldest,
    oldestLedgerCloseTime: Number(deps.chain.history.closedAt(oldest)),
    ledgerRetentionWindow: deps.retentionLedgers,
  };
}

function latestLedger(deps: NodeDeps): unknown {
  const ledger = visible(deps);
  const { chain } = deps;
  const hash = ledgerHash(chain.passphrase, ledger.sequence);
  const header = ledgerHeader(ledger, chain);
  return {
    id: hash.toString('hex'),
    protocolVersion: chain.protocolVersion,
    sequence: ledger.sequence,
    closeTime: String(ledger.closedAt),
    headerXdr: header.toXDR('base64'),
    metadataXdr: ledgerCloseMeta(header, hash).toXDR('base64'),
  };
}

const keysSchema = z.object({ keys: z.array(z.string()).default([]) });

function ledgerEntries(deps: NodeDeps, params: unknown): unknown {
  const { keys } = parse(keysSchema, params);
  if (keys.length > MAX_KEYS) {
    const message = `key count (${keys.length}) exceeds maximum supported (${MAX_KEYS})`;
    throw new RpcError(INVALID_PARAMS, message);
  }
  const { sequence } = visible(deps);
  const state = deps.chain.stateAt(sequence);
  const entries = keys.map(decodeKey).flatMap((key) => {
    const entry = state.get(idOf(key));
    if (!entry) return [];
    return [
      {
        key: idOf(key),
        xdr: entry.data.toXDR('base64'),
        lastModifiedLedgerSeq: entry.lastModified,
        ...(hasTimeToLive(key) ? { liveUntilLedgerSeq: entry.liveUntil } : {}),
        extXdr: new xdr.LedgerEntryExt(0).toXDR('base64'),
      },
    ];
  });
  return { entries, latestLedger: sequence };
}

function decodeKey(base64: string, index: number): xdr.LedgerKey {
  let key: xdr.LedgerKey;
  try {
    key = xdr.LedgerKey.fromXDR(base64, 'base64');
  } catch {
    throw new RpcError(INVALID_PARAMS, `cannot unmarshal key value ${base64} at index ${index}`);
  }
  if (key.switch().name === 'ttl') {
    throw new RpcError(INVALID_PARAMS, 'ledger ttl entries cannot be queried directly');
  }
  return key;
}

const simulateSchema = z.object({ transaction: z.string(), authMode: z.string().default('') });
const AUTH_MODES = ['', 'enforce', 'record', 'record_allow_nonroot'];

function simulateTransaction(deps: NodeDeps, params: unknown): unknown {
  const { transaction: base64, authMode } = parse(simulateSchema, params);
  const { sequence, closedAt } = visible(deps);
  const transaction = deps.chain.open(base64);
  if (!transaction) return { error: 'Could not unmarshal transaction', latestLedger: sequence };
  if (!AUTH_MODES.includes(authMode)) {
    const modes = AUTH_MODES.slice(1).join(',');
    return { error: `optional 'authMode' must be one of ${modes} when included`, latestLedger: sequence };
  }
  const answer = simulate(deps.simulation, {
    transaction,
    authMode,
    ledger: { sequence, closedAt, passphrase: deps.chain.passphrase },
    state: deps.chain.stateAt(sequence),
  });
  return { ...answer, latestLedger: sequence };
}

const sendSchema = z.object({ transaction: z.string() });

function sendTransaction(deps: NodeDeps, params: unknown): unknown {
  const { transaction: base64 } = parse(sendSchema, params);
  const transaction = deps.chain.open(base64);
  if (!transaction) throw new RpcError(INVALID_PARAMS, 'invalid_xdr');
  const { sequence, closedAt } = visible(deps);
  const answer = {
    hash: transaction.hash,
    latestLedger: sequence,
    latestLedgerCloseTime: String(closedAt),
  };
  const submitted = submit(deps, transaction);
  return { ...answer, ...submitted };
}

function submit({ chain, faults }: NodeDeps, transaction: OpenedTransaction) {
  if (strikes(faults, 'tryAgainLater')) return { status: 'TRY_AGAIN_LATER' };
  if (strikes(faults, 'sayBadSequence')) return errorAnswer(rejectionResult({ code: 'txBadSeq' }, 0n));
  const submission = chain.submit(transaction);
  if (strikes(faults, 'loseSendAnswers')) throw new AnswerLost();
  if (submission.status === 'ERROR') return errorAnswer(submission.result);
  return { status: strikes(faults, 'sayDuplicate') ? 'DUPLICATE' : submission.status };
}

function errorAnswer(result: xdr.TransactionResult) {
  return { status: 'ERROR', errorResultXdr: result.toXDR('base64') };
}

const hashSchema = z.object({ hash: z.string() });

function parse<T>(schema: z.ZodType<T>, params: unknown): T {
  const parsed = schema.safeParse(params ?? {});
  if (parsed.success) return parsed.data;
  throw new RpcError(INVALID_PARAMS, 'invalid parameters');
}
