/**
 * Signed authorisation entries outlive the transaction that they were signed for: anybody who saw one can use it in a
 * transaction of their own, until its last ledger has closed. So a verdict that would have the call signed again (or
 * what it reserved given back) waits for that, and then for the proof that nobody did.
 *
 *   the last ledger of an entry has not closed                          → pending
 *   closed, and no trace of its use, read while a trace still has to be there → the verdict
 *   closed, and it was used, or a trace might be gone by now            → undeterminable
 *
 * A used entry leaves its nonce in the ledger: till the entry's last ledger, and as long as the network has any
 * temporary entry live.
 */
import { Address as SdkAddress, xdr } from '@stellar/stellar-sdk';
import type { Outcome } from '../port.ts';
import { detachedCredentials } from './authorisation.ts';
import type { ReadResourceSettings } from './fees.ts';
import { innerEnvelope } from './landedCall.ts';
import type { StellarNode } from './node.ts';

export interface DetachedDeps {
  node: StellarNode;
  resourceSettings: ReadResourceSettings;
}

export interface Detached {
  credentials: readonly xdr.SorobanAddressCredentials[];
  preparedAtLedger: bigint;
}

/** What an envelope's calls have authorised beyond it. */
export function detachedIn(envelope: xdr.TransactionEnvelope): xdr.SorobanAddressCredentials[] {
  return innerEnvelope(envelope)
    .tx()
    .operations()
    .flatMap((operation) => {
      const body = operation.body();
      if (body.switch().name !== 'invokeHostFunction') return [];
      return detachedCredentials(body.invokeHostFunctionOp().auth());
    });
}

/** @throws NetworkUnavailable */
export async function onceUnusable(
  { node, resourceSettings }: DetachedDeps,
  { credentials, preparedAtLedger }: Detached,
  verdict: Outcome,
): Promise<Outcome> {
  const isFinal = verdict.status === 'dead' || verdict.status === 'refused';
  if (!isFinal || credentials.length === 0) return verdict;
  const { latestLedger, byKey } = await node.entries(credentials.map(nonceKeyOf));
  const lastLedger = credentials
    .map((each) => BigInt(each.signatureExpirationLedger()))
    .reduce((latest, ledger) => (ledger > latest ? ledger : latest));
  if (latestLedger < lastLedger) return { status: 'pending' };
  const about = `${said(verdict)}; but its signed authorisation could be used elsewhere until ledger ${lastLedger}`;
  if (byKey.size > 0) return { status: 'undeterminable', reason: `${about}, and somebody did` };
  const { minTemporaryTtlLedgers } = await resourceSettings(latestLedger);
  const shownUntil = preparedAtLedger + minTemporaryTtlLedgers;
  if (latestLedger === lastLedger || latestLedger <= shownUntil) return verdict;
  return {
    status: 'undeterminable',
    reason: `${about}, and ledger ${latestLedger} need not show any more whether somebody did`,
  };
}

function nonceKeyOf(credentials: xdr.SorobanAddressCredentials): xdr.LedgerKey {
  return xdr.LedgerKey.contractData(
    new xdr.LedgerKeyContractData({
      contract: SdkAddress.fromScAddress(credentials.address()).toScAddress(),
      key: xdr.ScVal.scvLedgerKeyNonce(new xdr.ScNonceKey({ nonce: credentials.nonce() })),
      durability: xdr.ContractDataDurability.temporary(),
    }),
  );
}

function said(verdict: Outcome): string {
  if (verdict.status === 'dead') return verdict.proof;
  return verdict.status === 'refused' ? verdict.refusal.message : verdict.status;
}
