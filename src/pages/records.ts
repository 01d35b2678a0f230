/**
 * Retirement records as the API returns them to the pages, and their public ids.
 */
export interface ListedRecord {
  index: number;
  tokenAddress: string;
  beneficiary: string;
  tonnes: string;
  timestamp: number;
  project: { assetId: string; countryCode: string; vintageYear: number };
}

export const LISTED_RECORD = `fragment ListedRecord on RetirementRecord {
  index tokenAddress beneficiary tonnes timestamp
  project { assetId countryCode vintageYear }
}`;

export interface Page<Node> {
  nodes: Node[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

export type RecordPage = Page<ListedRecord>;

export const EMPTY_PAGE: Page<never> = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } };

/**
 * The id of a retirement in addresses of pages: its token's address and its index there. Both are facts of
 * the ledger network, which everyone can read and no one can change. So the id stays valid after this
 * platform's database is restored or replaced, and reveals nothing that only the platform knows.
 */
export function publicId({ tokenAddress, index }: Pick<ListedRecord, 'tokenAddress' | 'index'>): string {
  return `${tokenAddress}-${index}`;
}

const PUBLIC_ID = /^([0-9A-Za-z]{1,128})-(0|[1-9]\d{0,8})$/;

/** Null for a text that is no public id. The token's address may still be invalid on this network. */
export function readPublicId(text: string): { tokenAddress: string; index: number } | null {
  const [, tokenAddress, index] = PUBLIC_ID.exec(text) ?? [];
  return tokenAddress === undefined ? null : { tokenAddress, index: Number(index) };
}

export function certificatePath(record: Pick<ListedRecord, 'tokenAddress' | 'index'>): string {
  return `/retirements/${publicId(record)}`;
}

export function projectPath(assetId: string): string {
  return `/projects/${encodeURIComponent(assetId)}`;
}

/** Some holders' names are longer than an address can be; they have no page. */
const MAX_BENEFICIARY_IN_PATH = 256;

export function beneficiaryPath(name: string): string | null {
  // An address can't contain a lone surrogate.
  if (name === '' || name.length > MAX_BENEFICIARY_IN_PATH || /\p{Cs}/u.test(name)) return null;
  // Browsers resolve a segment of dots, however it is encoded. No encoded name contains `=`.
  if (name === '.' || name === '..') return `/beneficiaries/${name}=`;
  // With an unencoded dot, the address would be the one of another name's file.
  return `/beneficiaries/${encodeURIComponent(name).replace(/\.csv$/, '%2Ecsv')}`;
}

/** The name in such a path, still encoded. */
export const BENEFICIARY_IN_PATH = String.raw`/beneficiaries/([^/]+?)(?:(?<=/\.\.?)=)?`;
