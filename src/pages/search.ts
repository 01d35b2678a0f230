/**
 * Looks up a reader's text as each of its possible meanings: a certificate's id, a serial number, a
 * transaction's hash, a project, or a beneficiary. The API finds serial numbers, projects and beneficiaries in
 * other spellings too.
 */
import { askOrNull, type Ask } from './ask.ts';
import { LISTED_RECORD, readPublicId, type ListedRecord } from './records.ts';

export interface Found {
  records: ListedRecord[];
  assetIds: string[];
}

const BY_SERIAL = `query FindBySerial($text: String!) { record: retirementRecordBySerial(serial: $text) { ...ListedRecord } }
${LISTED_RECORD}`;
const BY_HASH = `query FindByHash($text: String!) {
  records: retirementRecordsByTransaction(txHash: $text) { ...ListedRecord }
}
${LISTED_RECORD}`;
const BY_PLACE = `query FindByPlace($tokenAddress: Address!, $index: Int!) {
  record: retirementRecord(tokenAddress: $tokenAddress, index: $index) { ...ListedRecord }
}
${LISTED_RECORD}`;
const BY_NODE = `query FindByGlobalId($text: ID!) { record: node(id: $text) { ...ListedRecord } }
${LISTED_RECORD}`;
const BY_ASSET_ID = `query FindByAssetId($text: String!) {
  projects(first: 1, filter: { assetIds: [$text] }) { nodes { assetId } }
}`;
const BY_NAME = `query FindByName($name: String!) {
  page: retirementRecords(first: 20, filter: { beneficiaries: [$name] }) { nodes { ...ListedRecord } }
}
${LISTED_RECORD}`;
const BY_TOKEN = `query FindByToken($text: Address!) { project(tokenAddress: $text) { assetId } }`;

interface Answer {
  /** An empty object for a node of another type. */
  record?: ListedRecord | Record<string, never> | null;
  records?: ListedRecord[];
  page?: { nodes: ListedRecord[] };
  projects?: { nodes: { assetId: string }[] };
  project?: { assetId: string } | null;
}

export async function search(ask: Ask, given: string): Promise<Found> {
  const answers: (Answer | null)[] = [];
  for (const [source, variables] of questionsAbout(given.trim())) {
    const answer = await askOrNull<Answer>(ask, source, variables);
    answers.push(answer);
    if (recordsIn(answer).length > 0) break;
  }
  return {
    records: answers.flatMap(recordsIn),
    assetIds: answers.flatMap((answer) => [
      ...(answer?.projects?.nodes.map(({ assetId }) => assetId) ?? []),
      ...(answer?.project ? [answer.project.assetId] : []),
    ]),
  };
}

/**
 * The narrowest questions come first; at most six. Asset ids and names are separate questions: a name may be
 * longer than an asset id, and the API would refuse a common question as a whole.
 */
function* questionsAbout(text: string): Generator<[string, Record<string, unknown>]> {
  const place = readPublicId(text);
  if (place !== null) yield [BY_PLACE, { ...place }];
  if (/.-\d{6,19}$/.test(text)) yield [BY_SERIAL, { text }];
  if (/^(0x)?[0-9a-f]{64}$/i.test(text)) {
    yield [BY_HASH, { text }];
    return;
  }
  if (/^[\w-]{40,400}$/.test(text)) {
    yield [BY_NODE, { text }];
    yield [BY_TOKEN, { text }];
  }
  yield [BY_ASSET_ID, { text }];
  yield [BY_NAME, { name: text }];
}

function recordsIn(answer: Answer | null): ListedRecord[] {
  const { record, records = [], page } = answer ?? {};
  const one = record?.tokenAddress === undefined ? [] : [record as ListedRecord];
  return [...one, ...records, ...(page?.nodes ?? [])];
}
