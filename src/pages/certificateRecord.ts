/**
 * A certificate: one retirement with all its public facts, and the same record read from the network now.
 */
import { TimeoutError, withTimeout } from '../lib/timeout.ts';
import { DomainError, type ErrorCode } from '../lib/errors.ts';
import { askFor, askOrNull, type Ask } from './ask.ts';
import type { Inclusion } from './inclusion.ts';
import { certificatePath, readPublicId } from './records.ts';
import { absolute, type Site } from './site.ts';
import { isoOf } from './text.ts';

export interface CertificateRecord {
  index: number;
  tokenAddress: string;
  beneficiary: string;
  beneficiaryId: string | null;
  note: string;
  amount: string;
  tonnes: string;
  timestamp: number;
  txHash: string | null;
  retiredBy: string;
  reason: string | null;
  jurisdiction: string | null;
  period: { from: string; until: string } | null;
  serialRange: { first: string; last: string } | null;
  project: {
    assetId: string;
    verificationBodyRef: string;
    vintageYear: number;
    creditType: string;
    projectType: string;
    projectLocation: string;
    countryCode: string;
  };
}

const QUERY = `query Certificate($tokenAddress: Address!, $index: Int!) {
  retirementRecord(tokenAddress: $tokenAddress, index: $index) {
    index tokenAddress beneficiary beneficiaryId note amount tonnes timestamp txHash retiredBy reason jurisdiction
    period { from until }
    serialRange { first last }
    project { assetId verificationBodyRef vintageYear creditType projectType projectLocation countryCode }
  }
}`;

/** Null when there is no such record here. */
export async function readCertificate(ask: Ask, publicId: string): Promise<CertificateRecord | null> {
  const place = readPublicId(publicId);
  if (place === null) return null;
  const answer = await askOrNull<{ retirementRecord: CertificateRecord | null }>(ask, QUERY, { ...place });
  return answer?.retirementRecord ?? null;
}

/** The facts that the token keeps. */
const NETWORK_FIELDS = ['beneficiary', 'amount', 'timestamp', 'note', 'retiredBy'] as const;
type NetworkRecord = Pick<CertificateRecord, (typeof NETWORK_FIELDS)[number]>;

export type NetworkCheck =
  | { outcome: 'SAME'; checkedAt: number }
  | { outcome: 'DIFFERENT'; checkedAt: number; fields: (keyof NetworkRecord)[] }
  | { outcome: 'MISSING'; checkedAt: number }
  | { outcome: 'NO_ANSWER'; checkedAt: number };

/** The reader of the page waits during this time. */
const NETWORK_WAIT_MS = 3_000;
/** The node does not answer, or other requests use all places for asking it. */
const SILENCE: ReadonlySet<ErrorCode> = new Set(['LEDGER_UNAVAILABLE', 'OVERLOADED']);

const ON_NETWORK = `query CertificateOnNetwork($tokenAddress: Address!, $index: Int!) {
  retirementRecord(tokenAddress: $tokenAddress, index: $index) {
    onNetwork { ${NETWORK_FIELDS.join(' ')} }
  }
}`;

/** Compares a record with the token's present one. */
export async function checkOnNetwork(
  site: Site,
  ask: Ask,
  record: NetworkRecord & Pick<CertificateRecord, 'tokenAddress' | 'index'>,
): Promise<NetworkCheck> {
  const { tokenAddress, index } = record;
  const checkedAt = Math.floor(site.clock.now().getTime() / 1000);
  try {
    const asked = askFor<{ retirementRecord: { onNetwork: NetworkRecord | null } | null }>(ask, ON_NETWORK, {
      tokenAddress,
      index,
    });
    const now = (await withTimeout(NETWORK_WAIT_MS, asked)).retirementRecord?.onNetwork ?? null;
    if (now === null) return { outcome: 'MISSING', checkedAt };
    const fields = NETWORK_FIELDS.filter((field) => String(now[field]) !== String(record[field]));
    return fields.length === 0 ? { outcome: 'SAME', checkedAt } : { outcome: 'DIFFERENT', checkedAt, fields };
  } catch (error) {
    // The network does not know the token.
    if (error instanceof DomainError && error.code === 'LEDGER_REFUSED')
      return { outcome: 'MISSING', checkedAt };
    const isSilence =
      error instanceof TimeoutError || (error instanceof DomainError && SILENCE.has(error.code));
    if (isSilence) return { outcome: 'NO_ANSWER', checkedAt };
    throw error;
  }
}

/** Distinguishes the platform's files from other JSON. */
export const CERTIFICATE_FORMAT = 'carbon-retirement-certificate/1';

/**
 * The record's facts in a certificate's file. `/verify` compares every member, so another member needs
 * another format.
 */
export function certificateFacts(record: CertificateRecord) {
  return { ...record, retiredAt: isoOf(record.timestamp) };
}

/**
 * The certificate as a file: the same record each time, so that copies can be compared. The proof is for the
 * log's head at the time of the request, and null while the log does not have the record.
 */
export function certificateJson(site: Site, record: CertificateRecord, inclusion: Inclusion) {
  return {
    format: CERTIFICATE_FORMAT,
    url: absolute(site, certificatePath(record)),
    network: site.network,
    record: certificateFacts(record),
    inclusionProof: inclusion.outcome === 'PROVED' ? inclusion.proof : null,
  };
}
