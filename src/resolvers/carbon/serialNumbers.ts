/**
 * Serial numbers as texts, `<assetId>-000041`: buyers publish them, and the public looks them up.
 */
import type { FeedRecord } from '../../feed/followFeed.ts';
import { findRetirementOfSerial, readSerialRanges } from '../../ledger/books/serialRanges.ts';
import { MAX_WHOLE_UNITS } from '../../ledger/units.ts';
import type { Needs } from '../core/dependencies.ts';
import { findProjectByAsset, findProjectsByIds } from './findProject.ts';
import { findRecord } from './findRecord.ts';
import { findRetirement, type Retirement } from './findRetirement.ts';
import { readTotals } from './publicNodeReads.ts';

/** A range of serial numbers, both ends included. */
export interface SerialNumbers {
  first: string;
  last: string;
}

/** Minimum; larger numbers have more digits. */
const MIN_DIGITS = 6;
const SERIAL = /^(.+)-(\d{6,19})$/;

function serialOf(assetId: string, number: bigint): string {
  return `${assetId}-${number.toString().padStart(MIN_DIGITS, '0')}`;
}

type Asked = Pick<Retirement, 'id' | 'projectId'>;

/** Serial numbers of the retirements that are RETIRED. */
export async function readSerialNumbers(
  deps: Needs<'db'>,
  retirements: readonly Asked[],
): Promise<Map<Asked, SerialNumbers>> {
  const [ranges, projects] = await Promise.all([
    readSerialRanges(
      deps.db,
      retirements.map(({ id }) => id),
    ),
    findProjectsByIds(
      deps,
      retirements.map(({ projectId }) => projectId),
    ),
  ]);
  return new Map(
    retirements.flatMap((retirement): [Asked, SerialNumbers][] => {
      const range = ranges.get(retirement.id);
      const assetId = projects.get(retirement.projectId)?.assetId;
      if (!range || assetId === undefined) return [];
      return [[retirement, { first: serialOf(assetId, range.first), last: serialOf(assetId, range.last) }]];
    }),
  );
}

/**
 * Finds the token's record of the retirement that has the number; null when there is none.
 * @param addressKey the client's key, by which reads of the network are given in turn
 * @throws NetworkUnavailable when the record is not in the feed yet, and the token can't be read; DomainError
 * OVERLOADED
 */
export async function findRecordBySerial(
  deps: Needs<'db' | 'feed' | 'network'>,
  serial: string,
  addressKey: string,
): Promise<FeedRecord | null> {
  const [, assetId = '', digits = ''] = SERIAL.exec(serial) ?? [];
  const number = BigInt(digits);
  if (number < 1n || number > MAX_WHOLE_UNITS) return null;
  const project = await findProjectByAsset(deps, assetId);
  if (project?.tokenAddress == null || serialOf(assetId, number) !== serial) return null;
  const retirementId = await findRetirementOfSerial(deps.db, project.id, number);
  const retirement = retirementId === null ? null : await findRetirement(deps, retirementId);
  if (retirement?.recordIndex == null) return null;
  const { tokenAddress } = project;
  const known = await findRecord(deps, tokenAddress, retirement.recordIndex);
  if (known) return known;
  await readTotals(deps.feed, { projectId: project.id, tokenAddress }, addressKey);
  return findRecord(deps, tokenAddress, retirement.recordIndex);
}
