/**
 * The Soroban host for one invocation: the call stack, storage, authorisation, events and the diagnostic log.
 * Contracts are functions over it.
 */
import { Address, StrKey, xdr } from '@stellar/stellar-sdk';
import { createAuthorization } from './authorization.ts';
import type { AuthMode } from './authorization.ts';
import { diagnosticEvent, errorEvent, hostFailure, HostFailure, trap } from './hostErrors.ts';
import { codeKey, deployedContract, INSTANCE, instanceKey } from './ledgerKeys.ts';
import type { HostStorage } from './storage.ts';
import { address as addressValue, asSymbol, symbol, vec, VOID, WrongType } from './values.ts';

export interface LedgerInfo {
  sequence: number;
  /** Unix seconds. */
  closedAt: bigint;
  passphrase: string;
}

/** What a contract's function works with. */
export interface Env {
  /** The contract that runs. */
  readonly contract: string;
  readonly ledger: LedgerInfo;
  get(key: xdr.LedgerKey): xdr.LedgerEntryData | null;
  put(key: xdr.LedgerKey, data: xdr.LedgerEntryData): void;
  requireAuth(address: string): void;
  /** Runs a function of another contract. */
  call(contract: string, functionName: string, args: readonly xdr.ScVal[]): xdr.ScVal;
  /** A call of which `body` does the work, in place of the contract's own function. */
  callWith(frame: Callee, body: (env: Env) => xdr.ScVal): xdr.ScVal;
  /** Makes a contract of uploaded code; fails when the salt was used before. */
  deploy(salt: Buffer, kind: string): string;
  addressOf(salt: Buffer): string;
  publish(topics: xdr.ScVal[], data: xdr.ScVal): void;
  fail(failure: HostFailure): never;
}

interface Callee {
  contract: string;
  functionName: string;
  args: readonly xdr.ScVal[];
}

export interface ContractFunction {
  arity: number;
  run(env: Env, args: readonly xdr.ScVal[]): xdr.ScVal;
}

/** The functions of one uploaded code. */
export type ContractCode = Readonly<Record<string, ContractFunction>>;

export interface CodeLibrary {
  /** By the code's hash as hex, or `native` for the built-in asset contract. */
  codeOf(hash: string): ContractCode | null;
  hashOf(kind: string): Buffer;
}

interface HostOptions {
  ledger: LedgerInfo;
  storage: HostStorage;
  source: string;
  authMode: AuthMode;
  library: CodeLibrary;
  /** How many ledgers what contracts write lives. */
  persistentTtl: number;
}

type HostOutcome =
  | { kind: 'returned'; value: xdr.ScVal; auth: xdr.SorobanAuthorizationEntry[] }
  | { kind: 'failed'; error: xdr.ScError };

export interface HostRun {
  outcome: HostOutcome;
  /** Contract events in their order; none of a failed run. */
  events: xdr.ContractEvent[];
  /** Everything logged, in its order, contract events among it. */
  diagnostics: xdr.DiagnosticEvent[];
}

/** Runs the root call. */
export function runHost(options: HostOptions, root: Callee): HostRun {
  const { storage, ledger, library } = options;
  const authorization = createAuthorization({
    mode: options.authMode,
    source: options.source,
    passphrase: ledger.passphrase,
    ledger: ledger.sequence,
    storage,
  });
  const events: xdr.ContractEvent[] = [];
  const diagnostics: xdr.DiagnosticEvent[] = [];
  const logged = new WeakSet<HostFailure>();

  function log(failure: HostFailure, contract: string): void {
    if (logged.has(failure)) return;
    logged.add(failure);
    diagnostics.push(errorEvent(failure.error, failure.message, failure.details, contract));
    const hostFunction = HOST_FUNCTIONS[failure.error.switch().name];
    if (hostFunction) escalate(failure, hostFunction, contract);
  }

  function escalate(failure: HostFailure, hostFunction: string, contract: string): void {
    const message = `escalating error to VM trap from failed host function call: ${hostFunction}`;
    diagnostics.push(errorEvent(failure.error, message, [], contract));
  }

  function enter(callee: Callee, caller: string | null, body: (env: Env) => xdr.ScVal): xdr.ScVal {
    const { contract, functionName, args } = callee;
    const contractId = xdr.ScVal.scvBytes(StrKey.decodeContract(contract));
    const call = [symbol('fn_call'), contractId, symbol(functionName)];
    diagnostics.push(diagnosticEvent(call, argumentsValue(args), caller));
    authorization.enter(callee);
    try {
      const value = body(envOf(contract));
      diagnostics.push(diagnosticEvent([symbol('fn_return'), symbol(functionName)], value, contract));
      return value;
    } catch (thrown) {
      const failure = thrown instanceof WrongType ? trap(functionName) : thrown;
      if (!(failure instanceof HostFailure)) throw failure;
      log(failure, contract);
      if (caller !== null) {
        const details = [symbol(functionName), vec([...args])];
        diagnostics.push(errorEvent(failure.error, 'contract call failed', details, caller));
        escalate(failure, 'call', caller);
      }
      throw failure;
    } finally {
      authorization.leave();
    }
  }

  function codeAt(contract: string): ContractCode {
    const instance = storage.get(instanceKey(contract));
    if (!instance) {
      const message = 'trying to get non-existing value for contract instance';
      throw hostFailure('Storage', 'MissingValue', message, [addressValue(contract)]);
    }
    const executable = instance.contractData().val().instance().executable();
    if (executable.switch().name === 'contractExecutableStellarAsset') return library.codeOf('native') ?? {};
    const hash = executable.wasmHash();
    if (!storage.get(codeKey(hash))) {
      throw hostFailure('Storage', 'MissingValue', 'trying to get non-existing value for contract code');
    }
    return library.codeOf(hash.toString('hex')) ?? {};
  }

  function callFunction(callee: Callee, caller: string | null): xdr.ScVal {
    return enter(callee, caller, (env) => {
      const code = codeAt(callee.contract);
      const called = Object.hasOwn(code, callee.functionName) ? code[callee.functionName] : undefined;
      if (!called) {
        const message = 'trying to invoke non-existent contract function';
        throw hostFailure('WasmVm', 'MissingValue', message, [symbol(callee.functionName)]);
      }
      if (callee.args.length !== called.arity) {
        const message = 'VM call failed: Func(MismatchingParameterLen)';
        throw hostFailure('WasmVm', 'UnexpectedSize', message, [symbol(callee.functionName)]);
      }
      return called.run(env, callee.args);
    });
  }

  function envOf(contract: string): Env {
    const env: Env = {
      contract,
      ledger,
      get: (key) => storage.get(key),
      put: (key, data) => storage.put(key, data, options.persistentTtl),
      requireAuth: (address) => authorization.require(address),
      call: (callee, functionName, args) => callFunction({ contract: callee, functionName, args }, contract),
      callWith(callee, body) {
        return enter(callee, contract, (calleeEnv) => {
          codeAt(callee.contract);
          return body(calleeEnv);
        });
      },
      addressOf: (salt) => deployedContract(ledger.passphrase, contract, salt),
      deploy(salt, kind) {
        const made = env.addressOf(salt);
        if (storage.get(instanceKey(made))) {
          throw hostFailure('Storage', 'ExistingValue', 'contract already exists', [addressValue(made)]);
        }
        env.put(instanceKey(made), instanceData(made, library.hashOf(kind), []));
        storage.get(codeKey(library.hashOf(kind)));
        return made;
      },
      publish(topics, data) {
        const event = contractEvent(contract, topics, data);
        events.push(event);
        diagnostics.push(new xdr.DiagnosticEvent({ inSuccessfulContractCall: true, event }));
      },
      fail(failure) {
        throw failure;
      },
    };
    return env;
  }

  try {
    const value = callFunction(root, null);
    return {
      outcome: { kind: 'returned', value, auth: authorization.recorded() },
      events,
      diagnostics,
    };
  } catch (failure) {
    if (!(failure instanceof HostFailure)) throw failure;
    const failed = diagnostics.map(asFailed);
    return { outcome: { kind: 'failed', error: failure.error }, events: [], diagnostics: failed };
  }
}

/** Of a contract with uploaded code; the storage's keys are sorted as the host wants them. */
export function instanceData(
  contract: string,
  wasmHash: Buffer,
  storage: readonly { key: xdr.ScVal; val: xdr.ScVal }[],
): xdr.LedgerEntryData {
  const executable = xdr.ContractExecutable.contractExecutableWasm(wasmHash);
  return instanceOf(contract, executable, storage);
}

export function instanceOf(
  contract: string,
  executable: xdr.ContractExecutable,
  storage: readonly { key: xdr.ScVal; val: xdr.ScVal }[],
): xdr.LedgerEntryData {
  const sorted = storage.toSorted((a, b) => (sortText(a.key) < sortText(b.key) ? -1 : 1));
  const instance = new xdr.ScContractInstance({
    executable,
    storage: sorted.length === 0 ? null : sorted.map((entry) => new xdr.ScMapEntry(entry)),
  });
  return persistentData(contract, INSTANCE, xdr.ScVal.scvContractInstance(instance));
}

export function persistentData(contract: string, key: xdr.ScVal, val: xdr.ScVal): xdr.LedgerEntryData {
  return xdr.LedgerEntryData.contractData(
    new xdr.ContractDataEntry({
      ext: new xdr.ExtensionPoint(0),
      contract: new Address(contract).toScAddress(),
      key,
      durability: xdr.ContractDataDurability.persistent(),
      val,
    }),
  );
}

/** The host function that a failure of this type usually comes out of. */
const HOST_FUNCTIONS: Partial<Record<string, string>> = {
  sceContract: 'fail_with_error',
  sceAuth: 'require_auth',
  sceStorage: 'get_contract_data',
};

function contractEvent(contract: string, topics: xdr.ScVal[], data: xdr.ScVal): xdr.ContractEvent {
  return new xdr.ContractEvent({
    ext: new xdr.ExtensionPoint(0),
    contractId: StrKey.decodeContract(contract) as unknown as xdr.ContractId,
    type: xdr.ContractEventType.contract(),
    body: new xdr.ContractEventBody(0, new xdr.ContractEventV0({ topics, data })),
  });
}

function asFailed(diagnostic: xdr.DiagnosticEvent): xdr.DiagnosticEvent {
  return new xdr.DiagnosticEvent({ inSuccessfulContractCall: false, event: diagnostic.event() });
}

function argumentsValue(args: readonly xdr.ScVal[]): xdr.ScVal {
  if (args.length === 0) return VOID;
  return args.length === 1 && args[0] ? args[0] : vec([...args]);
}

/** Keys are vecs that start with a symbol: ordered by their symbols. */
function sortText(key: xdr.ScVal): string {
  return (key.vec() ?? [])
    .map((part) => (part.switch().name === 'scvVec' ? sortText(part) : asSymbol(part)))
    .join('\u0000');
}
