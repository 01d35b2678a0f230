/**
 * Running the one host function of a transaction, for a simulation or for good, and measuring what it used.
 */
import { Address } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import type { AuthMode } from './authorization.ts';
import { MEMORY_STATE_PROTOCOL } from './fees.ts';
import type { Resources } from './fees.ts';
import { runHost } from './host.ts';
import type { CodeLibrary, HostRun, LedgerInfo } from './host.ts';
import { hasTimeToLive, idOf } from './ledgerKeys.ts';
import type { EntryId } from './ledgerKeys.ts';
import type { EntryChanges, EntryReader, StoredEntry } from './ledgerState.ts';
import { createStorage } from './storage.ts';
import type { Footprint, HostStorage } from './storage.ts';

export interface InvocationDeps {
  protocolVersion: number;
  library: CodeLibrary;
  persistentTtl: number;
}

export interface Invoked {
  run: HostRun;
  storage: HostStorage;
  used: Pick<Resources, 'instructions' | 'readBytes' | 'writeBytes'>;
  eventBytes: number;
  rentedBytes: number;
}

interface InvocationRequest {
  below: EntryReader;
  ledger: LedgerInfo;
  source: string;
  operation: xdr.InvokeHostFunctionOp;
  authMode: AuthMode;
  footprint: Footprint | null;
  restoring: ReadonlySet<EntryId>;
}

/** Null for host functions that this network has no use for: uploads and deploys without a factory. */
export function invoke(deps: InvocationDeps, request: InvocationRequest): Invoked | null {
  const hostFunction = request.operation.hostFunction();
  if (hostFunction.switch().name !== 'hostFunctionTypeInvokeContract') return null;
  const { ledger, below } = request;
  const storage = createStorage({
    below,
    ledger: ledger.sequence,
    footprint: request.footprint,
    restoring: request.restoring,
    restoredTtl: deps.persistentTtl,
  });
  const call = hostFunction.invokeContract();
  const run = runHost(
    {
      ledger,
      storage,
      source: request.source,
      authMode: request.authMode,
      library: deps.library,
      persistentTtl: deps.persistentTtl,
    },
    {
      contract: Address.fromScAddress(call.contractAddress()).toString(),
      functionName: Buffer.from(call.functionName()).toString('utf8'),
      args: call.args(),
    },
  );
  return { run, storage, ...measure(run, storage, request, deps.protocolVersion) };
}

/**
 * As measured on the real host (protocols 26 and 28): what it takes to take in a key that names nothing, and one whose
 * entry exists, with each byte of that.
 */
const INSTRUCTIONS_PER_EMPTY_KEY = 28_000;
const INSTRUCTIONS_PER_ENTRY = 54_000;
const INSTRUCTIONS_PER_BYTE = 36;

/** On landing, everything that the footprint names and that exists counts, touched or not. */
function measure(
  run: HostRun,
  storage: HostStorage,
  { below, footprint }: Pick<InvocationRequest, 'below' | 'footprint'>,
  protocolVersion: number,
): Omit<Invoked, 'run' | 'storage'> {
  const touched = storage.touched();
  const keys = [...touched.readOnly, ...touched.readWrite];
  const readable = footprint ? [...footprint.readOnly, ...footprint.readWrite] : keys;
  const restored = storage.restored();
  const isFromDisk = (key: xdr.LedgerKey) =>
    protocolVersion < MEMORY_STATE_PROTOCOL || !hasTimeToLive(key) || restored.includes(idOf(key));
  const changes = storage.changes();
  const written = footprint ? footprint.readWrite.map(idOf) : [...changes.keys()];
  const after = (id: EntryId) => (changes.has(id) ? (changes.get(id) ?? null) : below.get(id));
  const returned = run.outcome.kind === 'returned' ? run.outcome.value.toXDR().length : 0;
  return {
    used: {
      instructions:
        1_000_000 +
        40_000 * run.events.length +
        sum(readable.map((key) => instructionsToTakeIn(below.get(idOf(key))))),
      readBytes: sum(readable.filter(isFromDisk).map((key) => sizeOf(below.get(idOf(key))))),
      writeBytes: sum(written.map((id) => sizeOf(after(id)))),
    },
    eventBytes: returned + sum(run.events.map((event) => event.toXDR().length)),
    rentedBytes: sum(rented(changes, below)),
  };
}

function instructionsToTakeIn(entry: StoredEntry | null): number {
  if (entry === null) return INSTRUCTIONS_PER_EMPTY_KEY;
  return INSTRUCTIONS_PER_ENTRY + INSTRUCTIONS_PER_BYTE * sizeOf(entry);
}

/** Entries that are new, or live longer than before. */
function rented(changes: EntryChanges, below: EntryReader): number[] {
  return [...changes].map(([id, entry]) => {
    const before = below.get(id)?.liveUntil ?? 0;
    return entry?.liveUntil && entry.liveUntil > before ? sizeOf(entry) : 0;
  });
}

export function sizeOf(entry: StoredEntry | null): number {
  return entry ? entry.data.toXDR().length + 8 : 0;
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
