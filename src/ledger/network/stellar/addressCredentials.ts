/**
 * Authorisation entries with address credentials outlive the transaction that they were signed for: until the
 * last ledger of an entry has closed, another sender can use it in its own transaction. If an outcome leads to
 * signing the call again, or to releasing its reserved value, it waits for that ledger, and then for proof
 * that the entry was not used.
 *
 *   the last ledger of an entry has not closed                          → pending
 *   closed, and no trace of its use while a trace would still be there  → the outcome
 *   closed, and it was used, or a trace might be gone by now            → undeterminable
 *
 * A used entry leaves its nonce in the ledger until the entry's last ledger, and at least for the minimum
 * life of temporary entries.
 */
import { Address as SdkAddress, xdr } from '@stellar/stellar-sdk';
import { largest } from '../../../lib/bigints.ts';
import type { Outcome } from '../port.ts';
import { addressCredentialsOf } from './authorisation.ts';
import type { ReadResourceSettings } from './fees.ts';
import { innerEnvelope } from './results.ts';
import type { StellarNode } from './node.ts';

export interface CredentialDeps {
  node: StellarNode;
  resourceSettings: ReadResourceSettings;
}

interface SignedCredentials {
  credentials: readonly xdr.SorobanAddressCredentials[];
  preparedAtLedger: bigint;
}

/** Authorisations in an envelope that are valid outside it. */
export function addressCredentialsIn(envelope: xdr.TransactionEnvelope): xdr.SorobanAddressCredentials[] {
  return innerEnvelope(envelope)
    .tx()
    .operations()
    .flatMap((operation) => {
      const body = operation.body();
      if (body.switch().name !== 'invokeHostFunction') return [];
      return addressCredentialsOf(body.invokeHostFunctionOp().auth());
    });
}

/**
 * Holds a final outcome back until the credentials have expired, and replaces it if they may have been used.
 * @throws NetworkUnavailable
 */
export async function onceCredentialsExpired(
  { node, resourceSettings }: CredentialDeps,
  { credentials, preparedAtLedger }: SignedCredentials,
  outcome: Outcome,
): Promise<Outcome> {
  const isFinal = outcome.status === 'dead' || outcome.status === 'refused';
  if (!isFinal || credentials.length === 0) return outcome;
  const { latestLedger, byKey } = await node.entries(credentials.map(nonceKeyOf));
  const lastLedger = largest(...credentials.map((each) => BigInt(each.signatureExpirationLedger())));
  if (latestLedger < lastLedger) return { status: 'pending' };
  const about = `${said(outcome)}; but its signed authorisation could be used elsewhere until ledger ${lastLedger}`;
  if (byKey.size > 0) return { status: 'undeterminable', reason: `${about}, and it was used there` };
  const { minTemporaryTtlLedgers } = await resourceSettings(latestLedger);
  const shownUntil = preparedAtLedger + minTemporaryTtlLedgers;
  if (latestLedger === lastLedger || latestLedger <= shownUntil) return outcome;
  return {
    status: 'undeterminable',
    reason: `${about}, and ledger ${latestLedger} need not show any more whether it was`,
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

function said(outcome: Outcome): string {
  if (outcome.status === 'dead') return outcome.proof;
  return outcome.status === 'refused' ? outcome.refusal.message : outcome.status;
}
