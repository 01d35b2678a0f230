/**
 * Reads contracts: a getter's value by simulation, whether a contract exists, and a value that it stores
 * under a name.
 *
 * Answers have their ledger. A contract's refusal is an answer too; a failure of the node is
 * NetworkUnavailable.
 */
import { Account, Operation, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';
import { nullFor } from '../../../lib/errors.ts';
import { NetworkUnavailable } from '../port.ts';
import type { Address } from '../port.ts';
import { contractDataKey, instanceKey, normalizeAddress } from './addresses.ts';
import { hostErrorOf } from './hostErrors.ts';
import type { HostError } from './hostErrors.ts';
import { hostFunctionOf } from './calls.ts';
import type { ContractCall } from './calls.ts';
import type { StellarNode } from './node.ts';
import type { Simulation } from './nodeAnswers.ts';
import { plain } from './scvals.ts';

export type Answer<T> = { ok: true; value: T; ledger: bigint } | { ok: false; error: HostError };

/** The simulation failed without an explanation. It may fail each time it is repeated. */
export class UnreadableFailure extends NetworkUnavailable {}

export const nullIfUnreadable = nullFor(UnreadableFailure);

/** A fact, and where contracts usually store it. */
interface Fact {
  getters: readonly string[];
  /** The name of its storage key. */
  stored: string;
}

export const FACTS = {
  paused: { getters: ['paused', 'is_paused'], stored: 'Paused' },
  treasury: { getters: ['treasury'], stored: 'Treasury' },
} as const satisfies Record<string, Fact>;

export interface ContractReads {
  ask(contract: Address, functionName: string, args?: xdr.ScVal[]): Promise<Answer<xdr.ScVal>>;
  exists(contract: Address): Promise<boolean>;
  /** A fact outside the promised interface: from one of these getters or the contract's storage; or null. */
  fact(contract: Address, fact: Fact): Promise<unknown>;
  /** The address with a role, if the contract's instance storage has it under the role's name; else null. */
  roleHolder(contract: Address, role: string): Promise<Address | null>;
}

/** A transaction that is only simulated is never sent, so its fee and sequence mean nothing. */
const UNSENT = { fee: '100', sequence: '0' };
const MAX_MESSAGE_LENGTH = 300;

export function createContractReads(
  node: StellarNode,
  options: { passphrase: string; reader: Address },
): ContractReads {
  const { passphrase, reader } = options;

  async function ask(
    contract: Address,
    functionName: string,
    args: xdr.ScVal[] = [],
  ): Promise<Answer<xdr.ScVal>> {
    const invocation = { contract, functionName, args };
    const simulation = await node.simulate(unsentTransaction(invocation, { passphrase, source: reader }));
    if (simulation.status === 'succeeded') {
      return { ok: true, value: simulation.returnValue, ledger: simulation.latestLedger };
    }
    return { ok: false, error: errorOrUnavailable(simulation) };
  }

  async function exists(contract: Address): Promise<boolean> {
    return (await node.entries([instanceKey(contract)])).byKey.size > 0;
  }

  return {
    ask,
    exists,
    async fact(contract, { getters, stored }) {
      const answers = await Promise.all(
        getters.map((getter) => ask(contract, getter).catch(nullIfUnreadable)),
      );
      const reported = answers.find((answer) => answer?.ok === true);
      return reported?.ok ? plain(reported.value) : findStored(node, contract, stored);
    },
    async roleHolder(contract, role) {
      const { byKey } = await node.entries([instanceKey(contract)]);
      const [instance] = byKey.values();
      const found = storageOf(instance).find((entry) => [plain(entry.key())].flat(2).includes(role));
      const holder = found ? plain(found.val()) : null;
      return typeof holder === 'string' ? normalizeAddress(holder) : null;
    },
  };
}

/**
 * A transaction to simulate, with `source` as its caller. A call through a channel is simulated in the same
 * way: nodes regard the operation and its source alone (`NewSimulateTransactionHandler` of stellar-rpc).
 */
export function unsentTransaction(
  call: ContractCall,
  { passphrase, source }: { passphrase: string; source: Address },
): Transaction {
  return new TransactionBuilder(new Account(source, UNSENT.sequence), {
    fee: UNSENT.fee,
    networkPassphrase: passphrase,
    timebounds: { minTime: 0, maxTime: 0 },
  })
    .addOperation(Operation.invokeHostFunction({ func: hostFunctionOf(call), auth: [] }))
    .build();
}

type FailedSimulation = Pick<Extract<Simulation, { status: 'failed' }>, 'events' | 'error'>;

/** The host's error in a failed simulation; null if it failed for a reason of the node's own. */
export function errorIn({ events, error: text }: FailedSimulation): HostError | null {
  const error = hostErrorOf(events, text);
  return error?.code === 'InternalError' ? null : error;
}

/** @throws UnreadableFailure if the simulation failed for a reason of the node's own */
export function errorOrUnavailable(simulation: FailedSimulation): HostError {
  const error = errorIn(simulation);
  if (error) return error;
  throw new UnreadableFailure(
    `The Stellar node could not simulate: ${simulation.error.slice(0, MAX_MESSAGE_LENGTH)}`,
  );
}

/**
 * Looks in the instance and in separate entries, under `ScVec[Symbol(Name)]` and the bare symbol: contracts
 * use all of these.
 */
async function findStored(node: StellarNode, contract: Address, name: string): Promise<unknown> {
  const symbol = xdr.ScVal.scvSymbol(name);
  const names = [xdr.ScVal.scvVec([symbol]), symbol];
  const keys = [instanceKey(contract), ...names.map((key) => contractDataKey(contract, key))];
  const { byKey } = await node.entries(keys);
  const [instance, ...beside] = keys.map((key) => byKey.get(key.toXDR('base64')));
  const wanted = names.map((key) => key.toXDR('base64'));
  const found =
    storageOf(instance)
      .find((entry) => wanted.includes(entry.key().toXDR('base64')))
      ?.val() ??
    beside
      .find((entry) => entry !== undefined)
      ?.contractData()
      .val();
  return found ? plain(found) : null;
}

/** A contract's instance storage. */
function storageOf(instance: xdr.LedgerEntryData | undefined): xdr.ScMapEntry[] {
  const value = instance?.contractData().val();
  return value?.switch().name === 'scvContractInstance' ? (value.instance().storage() ?? []) : [];
}
