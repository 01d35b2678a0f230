/**
 * The retirement record of a certificate, as the API returns it.
 */
import type { CertificateRecord } from '../../src/pages/certificateRecord.ts';

export const CERTIFICATE_RECORD: CertificateRecord = {
  index: 0,
  tokenAddress: 'C',
  beneficiary: 'Acme',
  beneficiaryId: null,
  note: '',
  amount: '5',
  tonnes: '5',
  timestamp: 7,
  txHash: null,
  retiredBy: 'G',
  reason: null,
  jurisdiction: null,
  period: null,
  serialRange: null,
  project: {
    assetId: 'VCS-1-2024',
    verificationBodyRef: 'VCS-1',
    vintageYear: 2024,
    creditType: 'removal',
    projectType: 'forest',
    projectLocation: 'Kasigau',
    countryCode: 'KE',
  },
};
