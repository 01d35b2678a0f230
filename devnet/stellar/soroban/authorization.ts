/**
 * Authorisation. On landing every `require_auth` must be found in the signed entries' trees; a simulation records it
 * instead, and returns the trees unsigned.
 *
 * A tracker follows one entry through the call stack: its root matches a frame, and below that frame only the tree's
 * own branches match. An entry is authenticated when its root is matched, and used once.
 */
import { Address, hash, StrKey, xdr } from '@stellar/stellar-sdk';
import { MIN_TEMPORARY_TTL_LEDGERS } from './configSettings.ts';
import { verify } from './ed25519.ts';
import { hostFailure } from './hostErrors.ts';
import { accountKey, nonceKey } from './ledgerKeys.ts';
import type { HostStorage } from './storage.ts';
import { address as addressValue, fieldsOf, u32 } from './values.ts';

interface CallFrame {
  contract: string;
  functionName: string;
  args: readonly xdr.ScVal[];
}

interface Authorization {
  enter(frame: CallFrame): void;
  leave(): void;
  /** @throws HostFailure when the address did not authorise the current frame */
  require(address: string): void;
  /** What a simulation found to be needed, unsigned. */
  recorded(): xdr.SorobanAuthorizationEntry[];
}

export type AuthMode =
  | { kind: 'enforce'; entries: readonly xdr.SorobanAuthorizationEntry[] }
  | { kind: 'record'; allowsNonRoot: boolean; newNonce: () => bigint };

interface AuthorizationOptions {
  mode: AuthMode;
  /** The operation's source: its signature on the envelope is enough. */
  source: string;
  passphrase: string;
  ledger: number;
  storage: HostStorage;
}

interface Branch {
  function: xdr.SorobanAuthorizedFunction;
  /** The function's XDR: what is compared. */
  id: string;
  branches: Branch[];
  isUsed: boolean;
}

interface Tracker {
  address: string;
  /** Null for the source account, and for what is only recorded. */
  credentials: xdr.SorobanAddressCredentials | null;
  invocation: xdr.SorobanAuthorizedInvocation | null;
  root: Branch;
  /** For each frame of the stack, the branch that it matched. */
  matched: (Branch | null)[];
}

/** The longest that the network lets any entry live; signatures as well. */
const MAX_TTL_LEDGERS = 3_110_400;

export function createAuthorization(options: AuthorizationOptions): Authorization {
  const { mode, source, storage } = options;
  const frames: CallFrame[] = [];
  const trackers: Tracker[] =
    mode.kind === 'enforce' ? mode.entries.map((entry) => trackerOf(entry, source)) : [];

  function record(address: string, branch: Branch, allowsNonRoot: boolean): void {
    const own = trackers.filter((tracker) => tracker.address === address);
    if (own.some(isMatchedNow)) {
      throw hostFailure('Auth', 'ExistingValue', 'frame is already authorized', [addressValue(address)]);
    }
    const active = own.find((tracker) => deepest(tracker) !== null);
    if (active) {
      deepest(active)?.branches.push(branch);
      active.matched[frames.length - 1] = branch;
      return;
    }
    if (!allowsNonRoot && frames.length > 1) throw notAtTheRoot(address);
    const matched: (Branch | null)[] = frames.map(() => null);
    matched[frames.length - 1] = branch;
    trackers.push({ address, credentials: null, invocation: null, root: branch, matched });
    if (address !== source && StrKey.isValidEd25519PublicKey(address)) storage.get(accountKey(address));
  }

  function enforce(address: string, branch: Branch): void {
    const own = trackers.filter((tracker) => tracker.address === address && !isMatchedNow(tracker));
    const isAnyActive = own.some((tracker) => deepest(tracker) !== null);
    for (const tracker of own) {
      const above = deepest(tracker);
      const candidates = above ? above.branches : isAnyActive ? [] : [tracker.root];
      const found = candidates.find(({ id, isUsed }) => !isUsed && id === branch.id);
      if (!found) continue;
      found.isUsed = true;
      tracker.matched[frames.length - 1] = found;
      if (!above) authenticate(tracker, options);
      return;
    }
    const details = [addressValue(address)];
    throw hostFailure('Auth', 'InvalidAction', 'Unauthorized function call for address', details);
  }

  return {
    enter(frame) {
      frames.push(frame);
      for (const tracker of trackers) tracker.matched.push(null);
    },
    leave() {
      frames.pop();
      for (const tracker of trackers) tracker.matched.pop();
    },
    require(address) {
      const current = frames.at(-1);
      if (!current) throw new Error('An authorisation is required outside of any call');
      // A contract has authorised what it calls itself.
      if (frames.at(-2)?.contract === address) return;
      const branch = branchOf(authorizedFunction(current), []);
      if (mode.kind === 'enforce') enforce(address, branch);
      else record(address, branch, mode.allowsNonRoot);
    },
    recorded() {
      if (mode.kind === 'enforce') return [...mode.entries];
      return trackers.map((tracker) => recordedEntry(tracker, source, mode.newNonce(), storage));
    },
  };
}

function trackerOf(entry: xdr.SorobanAuthorizationEntry, source: string): Tracker {
  const invocation = entry.rootInvocation();
  const isOfSource = entry.credentials().switch().name === 'sorobanCredentialsSourceAccount';
  const credentials = isOfSource ? null : entry.credentials().address();
  const address = credentials ? Address.fromScAddress(credentials.address()).toString() : source;
  return { address, credentials, invocation, root: branchOfInvocation(invocation), matched: [] };
}

function branchOfInvocation(invocation: xdr.SorobanAuthorizedInvocation): Branch {
  return branchOf(invocation.function(), invocation.subInvocations().map(branchOfInvocation));
}

function branchOf(authorized: xdr.SorobanAuthorizedFunction, branches: Branch[]): Branch {
  return { function: authorized, id: authorized.toXDR('base64'), branches, isUsed: false };
}

function isMatchedNow(tracker: Tracker): boolean {
  return (tracker.matched.at(-1) ?? null) !== null;
}

function deepest(tracker: Tracker): Branch | null {
  return tracker.matched.findLast((branch) => branch !== null) ?? null;
}

function authorizedFunction({ contract, functionName, args }: CallFrame): xdr.SorobanAuthorizedFunction {
  return xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(
    new xdr.InvokeContractArgs({
      contractAddress: new Address(contract).toScAddress(),
      functionName,
      args: [...args],
    }),
  );
}

function invocationOf(branch: Branch): xdr.SorobanAuthorizedInvocation {
  return new xdr.SorobanAuthorizedInvocation({
    function: branch.function,
    subInvocations: branch.branches.map(invocationOf),
  });
}

/** The nonce's key belongs into the footprint: it will be written when the entry is used. */
function recordedEntry(
  tracker: Tracker,
  source: string,
  nonce: bigint,
  storage: HostStorage,
): xdr.SorobanAuthorizationEntry {
  const rootInvocation = invocationOf(tracker.root);
  if (tracker.address === source) {
    const credentials = xdr.SorobanCredentials.sorobanCredentialsSourceAccount();
    return new xdr.SorobanAuthorizationEntry({ credentials, rootInvocation });
  }
  const credentials = new xdr.SorobanAddressCredentials({
    address: new Address(tracker.address).toScAddress(),
    nonce: new xdr.Int64(nonce),
    signatureExpirationLedger: 0,
    signature: xdr.ScVal.scvVoid(),
  });
  consumeNonce(tracker.address, credentials, storage, MAX_TTL_LEDGERS);
  return new xdr.SorobanAuthorizationEntry({
    credentials: xdr.SorobanCredentials.sorobanCredentialsAddress(credentials),
    rootInvocation,
  });
}

/** The signature first, then its time, then its nonce: as the host does it. */
function authenticate(tracker: Tracker, options: AuthorizationOptions): void {
  const { credentials, invocation, address } = tracker;
  if (!credentials || !invocation) return;
  const { ledger, passphrase, storage } = options;
  const expiration = credentials.signatureExpirationLedger();
  const payload = xdr.HashIdPreimage.envelopeTypeSorobanAuthorization(
    new xdr.HashIdPreimageSorobanAuthorization({
      networkId: hash(Buffer.from(passphrase)),
      nonce: credentials.nonce(),
      signatureExpirationLedger: expiration,
      invocation,
    }),
  );
  const isAccount = StrKey.isValidEd25519PublicKey(address) && storage.get(accountKey(address)) !== null;
  if (!isAccount || !isSignedBy(address, credentials.signature(), hash(payload.toXDR()))) {
    const who = [addressValue(address)];
    throw hostFailure('Auth', 'InvalidAction', 'failed account authentication with error', who);
  }
  const details = [addressValue(address), u32(ledger), u32(expiration)];
  if (ledger > expiration) throw hostFailure('Auth', 'InvalidInput', 'signature has expired', details);
  if (expiration > ledger + MAX_TTL_LEDGERS - 1) {
    throw hostFailure('Auth', 'InvalidInput', 'signature expiration is too late', details);
  }
  consumeNonce(address, credentials, storage, Math.max(expiration - ledger, MIN_TEMPORARY_TTL_LEDGERS - 1));
}

function consumeNonce(
  address: string,
  credentials: xdr.SorobanAddressCredentials,
  storage: HostStorage,
  ttl: number,
): void {
  const key = nonceKey(address, credentials.nonce());
  if (storage.get(key)) {
    throw hostFailure('Auth', 'ExistingValue', 'nonce already exists for address', [addressValue(address)]);
  }
  const entry = new xdr.ContractDataEntry({
    ext: new xdr.ExtensionPoint(0),
    contract: key.contractData().contract(),
    key: key.contractData().key(),
    durability: key.contractData().durability(),
    val: xdr.ScVal.scvVoid(),
  });
  storage.put(key, xdr.LedgerEntryData.contractData(entry), ttl);
}

/** An account signs with a vec of `{ public_key, signature }`; here every account has its own key alone. */
function isSignedBy(address: string, signature: xdr.ScVal, payload: Buffer): boolean {
  if (signature.switch().name !== 'scvVec') return false;
  const [one, ...others] = signature.vec() ?? [];
  if (one?.switch().name !== 'scvMap' || others.length > 0) return false;
  const fields = fieldsOf(one);
  const publicKey = fields.get('public_key');
  const bytes = fields.get('signature');
  if (publicKey?.switch().name !== 'scvBytes' || bytes?.switch().name !== 'scvBytes') return false;
  const isOwnKey = publicKey.bytes().equals(StrKey.decodeEd25519PublicKey(address));
  return isOwnKey && verify(address, payload, bytes.bytes());
}

function notAtTheRoot(address: string): Error {
  return hostFailure(
    'Auth',
    'InvalidAction',
    '[recording authorization only] encountered authorization not tied to the root contract invocation for ' +
      'an address. Use `require_auth()` in the top invocation or enable non-root authorization.',
    [addressValue(address)],
  );
}
