/**
 * Prepares the transaction that a holder's wallet signs, and verifies its signed form.
 *
 * The holder is the transaction's source and signs the envelope, so the wallet must return exactly the
 * prepared transaction, with the holder's one signature and nothing else.
 */
import { FeeBumpTransaction, Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';
import { notAsPrepared, refused } from '../port.ts';
import type { Address, HolderCall, PreparedTransaction, UnsignedTransaction } from '../port.ts';
import { readAccounts } from './accounts.ts';
import { isAccount } from './addresses.ts';
import { callWithHeadroom, simulateCall } from './draft.ts';
import type { DraftingDeps } from './draft.ts';
import { stellar } from './family.ts';
import { inclusionFeeStroops } from './fees.ts';
import { hostFunctionOf, invocationOf } from './calls.ts';
import { buildTransaction, preparedFrom } from './signing.ts';

/** Time for a person to read, decide and sign, perhaps on another device. */
const HOLDER_VALIDITY_SECONDS = 600n;

export async function prepareForHolder(
  deps: DraftingDeps,
  call: HolderCall,
  holder: Address,
): Promise<UnsignedTransaction> {
  if (!isAccount(holder)) {
    throw refused('OTHER', `${holder} is no account (G…), so no wallet can sign a transaction for it`);
  }
  const { node } = deps;
  const [state, simulated, accounts, inclusionFee] = await Promise.all([
    node.presentState(),
    simulateCall(deps, call, holder),
    readAccounts(node, [holder]),
    inclusionFeeStroops(node, deps.maxInclusionFeeStroops),
  ]);
  const account = accounts.byAddress.get(holder);
  if (!account) {
    throw refused('OTHER', `The account ${holder} does not exist on the network yet: it needs XLM for fees`);
  }
  const { resources, auth } = await callWithHeadroom(deps, simulated, state);
  const validUntil = state.closedAt + HOLDER_VALIDITY_SECONDS;
  const transaction = buildTransaction(
    {
      operation: Operation.invokeHostFunction({ func: hostFunctionOf(simulated.invocation), auth }),
      resources,
      inclusionFeeStroops: inclusionFee,
      validUntil,
      passphrase: deps.passphrase,
    },
    { source: holder, sequence: account.sequence + 1n },
  );
  return {
    format: stellar.walletFormat.name,
    payload: transaction.toXDR(),
    holder,
    validUntil,
    preparedAtLedger: state.latestLedger,
  };
}

/** @throws NetworkRefusal NOT_AS_PREPARED */
export async function openSigned(
  deps: Pick<DraftingDeps, 'node' | 'passphrase' | 'contracts'>,
  call: HolderCall,
  unsigned: UnsignedTransaction,
  signed: string,
): Promise<PreparedTransaction> {
  const given = parse(unsigned.payload, deps.passphrase);
  if (!given || given instanceof FeeBumpTransaction || unsigned.validUntil === null) {
    throw notAsPrepared('what was prepared is no transaction of this network');
  }
  requireCall(deps, call, unsigned.holder, given);
  const back = parse(signed, deps.passphrase);
  if (!back) throw notAsPrepared('it is no transaction envelope in base64');
  if (back instanceof FeeBumpTransaction) {
    throw notAsPrepared('it is wrapped in a fee bump; hand in the inner transaction alone');
  }
  requireSameTransaction(given, back);
  requireOneSignature(back, unsigned.holder);

  return preparedFrom(back, {
    slot: { source: unsigned.holder, sequence: BigInt(back.sequence) },
    validUntil: unsigned.validUntil,
    preparedAtLedger: unsigned.preparedAtLedger,
  });
}

function requireCall(
  deps: Pick<DraftingDeps, 'contracts'>,
  call: HolderCall,
  holder: Address,
  given: Transaction,
): void {
  const wanted = hostFunctionOf(invocationOf(deps.contracts, call, holder)).toXDR('base64');
  const [operation] = given.operations;
  const found = operation?.type === 'invokeHostFunction' ? operation.func.toXDR('base64') : null;
  if (found !== wanted) throw notAsPrepared(`what was prepared is not this ${call.kind}`);
}

function requireSameTransaction(given: Transaction, back: Transaction): void {
  if (given.hash().equals(back.hash())) return;
  const differing = (
    [
      ['source', given.source, back.source],
      ['sequence', given.sequence, back.sequence],
      ['fee', given.fee, back.fee],
      ['time bounds', showBounds(given), showBounds(back)],
      ['memo', given.memo.type, back.memo.type],
      ['operations', showOperations(given), showOperations(back)],
    ] as const
  ).flatMap(([name, wanted, found]) => (wanted === found ? [] : [name]));
  const what = differing.length > 0 ? differing.join(', ') : 'its bytes';
  throw notAsPrepared(`it is another transaction than the one prepared: ${what} differ`);
}

function requireOneSignature(back: Transaction, holder: Address): void {
  if (back.signatures.length !== 1) {
    throw notAsPrepared(`it has ${back.signatures.length} signatures; the holder's one is needed`);
  }
  const [decorated] = back.signatures;
  const key = Keypair.fromPublicKey(holder);
  const isTheirs =
    decorated !== undefined &&
    decorated.hint().equals(key.signatureHint()) &&
    key.verify(back.hash(), decorated.signature());
  if (!isTheirs) throw notAsPrepared(`the signature is not that of ${holder}`);
}

function parse(payload: string, passphrase: string): Transaction | FeeBumpTransaction | null {
  const base64 = payload.trim();
  // A decoder stops at the padding and would ignore text after it.
  if (Buffer.from(base64, 'base64').toString('base64') !== base64) return null;
  try {
    return TransactionBuilder.fromXDR(base64, passphrase);
  } catch {
    return null;
  }
}

function showBounds({ timeBounds }: Transaction): string {
  return timeBounds ? `${timeBounds.minTime}–${timeBounds.maxTime}` : 'none';
}

function showOperations(transaction: Transaction): string {
  return transaction
    .toEnvelope()
    .v1()
    .tx()
    .operations()
    .map((operation) => operation.toXDR('base64'))
    .join(' ');
}
