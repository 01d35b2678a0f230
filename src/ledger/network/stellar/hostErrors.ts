/**
 * Reads errors of the Soroban host, and finds the contract where they arose.
 *
 * An error passes through every caller, so its number alone does not show which contract raised it; the
 * diagnostic events do. The last `error` event is the error of the failed call. The earliest event in the
 * unbroken run of the same error before it shows where the error arose. (Errors that a contract caught are
 * other runs.)
 */
import { StrKey } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import { storableText } from '../foreignText.ts';
import type { Address } from '../port.ts';
import { plain } from './scvals.ts';

export interface HostError {
  /** `Contract`, `WasmVm`, `Storage`, `Auth`, `Budget`, … */
  type: string;
  /** `ExceededLimit`, `MissingValue`, …; the number of a contract's own error. */
  code: string | number;
  /** The contract where the error arose; null if the node doesn't show it. */
  contract: Address | null;
  /** The host's message; may be empty. */
  message: string;
}

const ERROR_TEXT = /Error\((\w+), (?:#(\d{1,10})|(\w+))\)/;

/** Null if neither the events nor the text contain an error of the host. */
export function hostErrorOf(events: readonly xdr.DiagnosticEvent[], text: string | null): HostError | null {
  return errorInEvents(events) ?? (text === null ? null : errorInText(text));
}

/** Formats the error as the host writes it. */
export function showCode({ type, code }: Pick<HostError, 'type' | 'code'>): string {
  return `Error(${type}, ${typeof code === 'number' ? `#${code}` : code})`;
}

export function showError(error: HostError): string {
  const { contract, message } = error;
  return [
    showCode(error),
    contract === null ? '' : ` in ${contract}`,
    message === '' ? '' : `: ${message}`,
  ].join('');
}

/**
 * True for errors that the network causes: the transaction's declaration (footprint, resources,
 * authorisation) did not fit the ledger in which it landed. Another transaction of the same call may succeed.
 */
export function isNetworksOwn({ type, code }: HostError): boolean {
  if (code === 'InternalError') return true;
  if (type === 'Budget' || type === 'Auth') return true;
  return type === 'Storage' && code === 'ExceededLimit';
}

/** The contract has no such function, or there is no contract. */
export function isMissing({ code }: HostError): boolean {
  return code === 'MissingValue';
}

function errorInEvents(events: readonly xdr.DiagnosticEvent[]): HostError | null {
  const errors = events.flatMap((diagnostic) => {
    const error = errorOfEvent(diagnostic.event());
    return error ? [error] : [];
  });
  const last = errors.at(-1);
  if (!last) return null;
  const others = errors.findLastIndex(({ type, code }) => type !== last.type || code !== last.code);
  return errors[others + 1] ?? last;
}

function errorOfEvent(event: xdr.ContractEvent): HostError | null {
  const body = event.body().v0();
  const [kind, error] = body.topics();
  if (kind?.switch().name !== 'scvSymbol' || plain(kind) !== 'error') return null;
  if (error?.switch().name !== 'scvError') return null;
  // A call to what is no contract has none. The SDK reads that as undefined.
  const contractId = event.contractId() as unknown as Buffer | null | undefined;
  return {
    ...typeAndCode(error.error()),
    contract: contractId ? StrKey.encodeContract(contractId) : null,
    message: messageIn(body.data()),
  };
}

function typeAndCode(error: xdr.ScError): Pick<HostError, 'type' | 'code'> {
  const type = error.switch().name.replace(/^sce/, '');
  if (type === 'Contract') return { type, code: error.contractCode() };
  return { type, code: error.code().name.replace(/^scec/, '') };
}

/** The data is the message alone, or the message before the values that it refers to. */
function messageIn(data: xdr.ScVal): string {
  const value = data.switch().name === 'scvVec' ? data.vec()?.[0] : data;
  return value?.switch().name === 'scvString' ? storableText(String(plain(value))) : '';
}

function errorInText(text: string): HostError | null {
  const match = ERROR_TEXT.exec(text);
  if (!match) return null;
  const [, type = '', number, code = ''] = match;
  return { type, code: number === undefined ? code : Number(number), contract: null, message: '' };
}
