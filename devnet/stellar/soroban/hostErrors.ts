/**
 * Errors of the Soroban host, and the text that a node makes of one and of its event log.
 */
import { Address, scValToBigInt, scValToNative, StrKey, xdr } from '@stellar/stellar-sdk';
import { asString, asSymbol, string, vec } from './values.ts';

type ErrorType = 'WasmVm' | 'Storage' | 'Auth' | 'Context';
type ErrorCode =
  'InvalidInput' | 'MissingValue' | 'ExistingValue' | 'ExceededLimit' | 'InvalidAction' | 'UnexpectedSize';

/** What a frame of the host failed with. The one that fails first says why; callers only pass it on. */
export class HostFailure extends Error {
  override readonly name = 'HostFailure';
  readonly error: xdr.ScError;
  /** The host's arguments to the message, for the event log. */
  readonly details: readonly xdr.ScVal[];

  constructor(error: xdr.ScError, message: string, details: readonly xdr.ScVal[] = []) {
    super(message);
    this.error = error;
    this.details = details;
  }
}

/** A contract's own error, as `panic_with_error!` raises it. */
export function contractFailure(number: number): HostFailure {
  const error = xdr.ScError.sceContract(number);
  return new HostFailure(error, 'failing with contract error', [xdr.ScVal.scvU32(number)]);
}

export function hostFailure(
  type: ErrorType,
  code: ErrorCode,
  message: string,
  details: readonly xdr.ScVal[] = [],
): HostFailure {
  return new HostFailure(errorOf(type, code), message, details);
}

/** What a panic without an error number looks like from outside. */
export function trap(functionName: string): HostFailure {
  return hostFailure('WasmVm', 'InvalidAction', 'VM call trapped: UnreachableCodeReached', [
    xdr.ScVal.scvSymbol(functionName),
  ]);
}

/** The event that the host logs for a failure inside `contract`. */
export function errorEvent(
  error: xdr.ScError,
  message: string,
  details: readonly xdr.ScVal[],
  contract: string | null,
): xdr.DiagnosticEvent {
  const data = details.length === 0 ? string(message) : vec([string(message), ...details]);
  return diagnosticEvent([xdr.ScVal.scvSymbol('error'), xdr.ScVal.scvError(error)], data, contract);
}

export function diagnosticEvent(
  topics: xdr.ScVal[],
  data: xdr.ScVal,
  contract: string | null,
): xdr.DiagnosticEvent {
  return new xdr.DiagnosticEvent({
    inSuccessfulContractCall: false,
    event: new xdr.ContractEvent({
      ext: new xdr.ExtensionPoint(0),
      contractId: contract === null ? null : (StrKey.decodeContract(contract) as unknown as xdr.ContractId),
      type: xdr.ContractEventType.diagnostic(),
      body: new xdr.ContractEventBody(0, new xdr.ContractEventV0({ topics, data })),
    }),
  });
}

/** `HostError: Error(Contract, #2)` and the event log, newest first. */
export function errorText(error: xdr.ScError, log: readonly xdr.DiagnosticEvent[]): string {
  const lines = log.toReversed().map((event, index) => `   ${index}: ${eventText(event)}\n`);
  return `HostError: ${scErrorText(error)}\n\nEvent log (newest first):\n${lines.join('')}`;
}

function eventText(diagnostic: xdr.DiagnosticEvent): string {
  const event = diagnostic.event();
  const contractId = event.contractId() as unknown as Buffer | null;
  const contract = contractId ? `contract:${StrKey.encodeContract(contractId)}, ` : '';
  const { name } = event.type();
  const kind = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const [first] = event.body().v0().topics();
  const isCall = first?.switch().name === 'scvSymbol' && asSymbol(first) === 'fn_call';
  const topics = event
    .body()
    .v0()
    .topics()
    .map((topic, index) => (isCall && index === 1 ? StrKey.encodeContract(topic.bytes()) : valueText(topic)));
  const prefix =
    diagnostic.inSuccessfulContractCall() || name === 'diagnostic'
      ? `[${kind} Event]`
      : `[Failed ${kind} Event (not emitted)]`;
  return `${prefix} ${contract}topics:[${topics.join(', ')}], data:${valueText(event.body().v0().data())}`;
}

function valueText(value: xdr.ScVal): string {
  const type: string = value.switch().name;
  switch (type) {
    case 'scvVoid':
      return 'Void';
    case 'scvError':
      return scErrorText(value.error());
    case 'scvBytes':
      return `Bytes(${value.bytes().toString('hex')})`;
    case 'scvString':
      return `"${asString(value)}"`;
    case 'scvSymbol':
      return asSymbol(value);
    case 'scvVec':
      return `[${(value.vec() ?? []).map(valueText).join(', ')}]`;
    case 'scvMap': {
      const pairs = (value.map() ?? []).map(
        (entry) => `${valueText(entry.key())}: ${valueText(entry.val())}`,
      );
      return `{${pairs.join(', ')}}`;
    }
    case 'scvAddress':
      return Address.fromScVal(value).toString();
    case 'scvI128':
      return String(scValToBigInt(value));
    default:
      return String(scValToNative(value));
  }
}

function scErrorText(error: xdr.ScError): string {
  const type = error.switch().name.replace(/^sce/, '');
  if (type === 'Contract') return `Error(Contract, #${error.contractCode()})`;
  const code = (error.value() as xdr.ScErrorCode).name.replace(/^scec/, '');
  return `Error(${type}, ${code})`;
}

function errorOf(type: ErrorType, code: ErrorCode): xdr.ScError {
  const codes: Record<ErrorCode, () => xdr.ScErrorCode> = {
    InvalidInput: () => xdr.ScErrorCode.scecInvalidInput(),
    MissingValue: () => xdr.ScErrorCode.scecMissingValue(),
    ExistingValue: () => xdr.ScErrorCode.scecExistingValue(),
    ExceededLimit: () => xdr.ScErrorCode.scecExceededLimit(),
    InvalidAction: () => xdr.ScErrorCode.scecInvalidAction(),
    UnexpectedSize: () => xdr.ScErrorCode.scecUnexpectedSize(),
  };
  const scErrorCode = codes[code]();
  switch (type) {
    case 'WasmVm':
      return xdr.ScError.sceWasmVm(scErrorCode);
    case 'Storage':
      return xdr.ScError.sceStorage(scErrorCode);
    case 'Auth':
      return xdr.ScError.sceAuth(scErrorCode);
    case 'Context':
      return xdr.ScError.sceContext(scErrorCode);
    default:
      return type satisfies never;
  }
}
