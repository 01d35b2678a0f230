/**
 * The check of a certificate in steps: whether the record exists, and whether the file and the network have
 * the same facts.
 */
import { DomainError } from '../lib/errors.ts';
import { isSameNetwork } from '../lib/sameNetwork.ts';
import type { Ask } from './ask.ts';
import {
  CERTIFICATE_FORMAT,
  certificateFacts,
  checkOnNetwork,
  readCertificate,
  type CertificateRecord,
  type NetworkCheck,
} from './certificateRecord.ts';
import {
  differencesOf,
  originOf,
  readInclusion,
  readProof,
  type Inclusion,
  type InclusionProof,
} from './inclusion.ts';
import { isObject, parseJsonObject } from '../lib/parseJson.ts';
import { publicId } from './records.ts';
import { search } from './search.ts';
import type { Site } from './site.ts';
import { shown, timeOf } from './text.ts';

export interface Step {
  question: string;
  outcome: 'PASSED' | 'FAILED' | 'OPEN';
  explanation: string;
}

export interface Checked {
  steps: Step[];
  /** This registry's record; null when it has none. */
  record: CertificateRecord | null;
}

/** The pasted input: a text to look up, or a file whose facts are compared. */
type AskedCertificate =
  | { kind: 'TEXT'; text: string }
  | {
      kind: 'FILE';
      id: string;
      networkId: unknown;
      facts: Record<string, unknown>;
      proof: InclusionProof | 'BROKEN' | null;
    }
  | { kind: 'NONE'; because: string };

export function askedCertificate(given: string): AskedCertificate {
  if (!given.startsWith('{')) return { kind: 'TEXT', text: idInAddress(given) ?? given };
  const file = parseJsonObject(given);
  if (file === null) return { kind: 'NONE', because: 'The file is not JSON: a part of it may be missing.' };
  const { format, record: facts, network } = file;
  if (format !== CERTIFICATE_FORMAT || !isObject(facts)) {
    return {
      kind: 'NONE',
      because: `The file is not a certificate: its format is not ${CERTIFICATE_FORMAT}.`,
    };
  }
  const { tokenAddress, index } = facts;
  // Checked by type, because converting deeply nested lists to text would overflow the stack.
  if (typeof tokenAddress !== 'string' || typeof index !== 'number') {
    return { kind: 'NONE', because: 'The file is not a certificate: its record has no token or no index.' };
  }
  return {
    kind: 'FILE',
    id: `${tokenAddress}-${index}`,
    networkId: isObject(network) ? network['networkId'] : undefined,
    facts,
    proof: file['inclusionProof'] == null ? null : (readProof(file['inclusionProof']) ?? 'BROKEN'),
  };
}

export async function checkCertificate(site: Site, ask: Ask, asked: AskedCertificate): Promise<Checked> {
  if (asked.kind === 'NONE')
    return { record: null, steps: [step('Is it a certificate?', 'FAILED', asked.because)] };
  const found = await findRecord(ask, asked);
  const { record } = found;
  const steps = [existence(asked, found)];
  if (asked.kind === 'FILE') steps.push(sameNetwork(site, asked.networkId));
  if (record === null) return { record, steps };
  const proof = asked.kind === 'FILE' ? asked.proof : null;
  const inclusion: Inclusion | null =
    proof === 'BROKEN' ? null : proof ? { outcome: 'PROVED', proof } : await readInclusion(ask, record);
  if (asked.kind === 'FILE') {
    steps.push(sameFacts(asked.facts, record, inclusion && firstDateIn(site, record, inclusion)));
  }
  steps.push(onNetwork(site, await checkOnNetwork(site, ask, record)));
  steps.push(inLog(site, record, inclusion));
  return { record, steps };
}

interface FoundRecord {
  record: CertificateRecord | null;
  /** Why the record's existence is not known. */
  unknown?: string;
}

async function findRecord(
  ask: Ask,
  asked: Exclude<AskedCertificate, { kind: 'NONE' }>,
): Promise<FoundRecord> {
  if (asked.kind === 'FILE') return { record: await readCertificate(ask, asked.id) };
  try {
    const name = asked.text.normalize('NFC');
    const { records } = await search(ask, asked.text);
    // A beneficiary's name is not a certificate, even if it has only one.
    const [found, ...others] = records.filter(({ beneficiary }) => beneficiary.normalize('NFC') !== name);
    if (found === undefined) return { record: null };
    if (others.length === 0) return { record: await readCertificate(ask, publicId(found)) };
    const ids = [found, ...others].map(publicId).join(', ');
    return {
      record: null,
      unknown: `It has several, each with a certificate of its own. Check one of them: ${ids}.`,
    };
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'LEDGER_UNAVAILABLE')) throw error;
    // The network is asked only about retirements of the books.
    return {
      record: null,
      unknown: 'The ledger network, which has it, did not answer. Try again in a minute.',
    };
  }
}

function existence(asked: AskedCertificate, { record, unknown }: FoundRecord): Step {
  const question = 'Does this registry have such a retirement?';
  if (unknown !== undefined) return step(question, 'OPEN', unknown);
  if (record !== null) {
    return step(question, 'PASSED', `It is record ${record.index} of the token ${record.tokenAddress}.`);
  }
  const advice =
    asked.kind === 'TEXT'
      ? 'No id, serial number or transaction hash is like this. One that has just been made is here a few seconds later.'
      : 'No token here has a record at the index that the file names.';
  return step(question, 'FAILED', advice);
}

function sameNetwork({ network }: Site, networkId: unknown): Step {
  const question = 'Is the file about the network of this registry?';
  return typeof networkId === 'string' && isSameNetwork(networkId, network.networkId)
    ? step(question, 'PASSED', `Both are about ${network.name} (${shown(network.networkId, 100)}).`)
    : step(question, 'FAILED', `This registry reads ${network.name}; the file is about another network.`);
}

/** The first date of the record, which the log proves. */
function firstDateIn(site: Site, record: CertificateRecord, inclusion: Inclusion): number | null {
  if (inclusion.outcome !== 'PROVED') return null;
  const { proof } = inclusion;
  if (differencesOf(proof.entry, record).length > 0 || site.checkInclusion(proof) !== null) return null;
  const first = parseJsonObject(proof.entry)?.['timestamp'];
  return typeof first === 'number' ? first : null;
}

/**
 * The file has the same facts, and no others. It may lack facts that the token's record does not have,
 * because the platform learns them later. A file from before a rollback of the chain has the first date.
 */
function sameFacts(
  facts: Record<string, unknown>,
  record: CertificateRecord,
  firstDate: number | null,
): Step {
  const question = 'Does the file say what the registry says?';
  const isOfFirstDate = facts['timestamp'] !== record.timestamp && facts['timestamp'] === firstDate;
  const own: Record<string, unknown> = certificateFacts(
    isOfFirstDate && firstDate !== null ? { ...record, timestamp: firstDate } : record,
  );
  const others = namesOf(facts, own).filter(
    (name) => !(facts[name] === null && BESIDE_THE_RECORD.has(name)) && !isSame(facts[name], own[name]),
  );
  if (others.length === 0) {
    const same = 'Every fact of the file’s record is the same as here';
    const redated = `${same}. The file has the date from before the chain was rolled back; now the token has ${timeOf(record.timestamp)}.`;
    return step(question, 'PASSED', isOfFirstDate ? redated : `${same}.`);
  }
  const difference = `it differs in ${shown(others.join(', '), 300)}`;
  return step(
    question,
    'FAILED',
    others.every((name) => BESIDE_THE_RECORD.has(name))
      ? `The file was changed, or this registry has lost what it had: ${difference}, which the token’s record does not have.`
      : `The file was changed: ${difference}.`,
  );
}

/**
 * Facts that only the platform keeps: a restore of an older backup loses them, while the record comes back
 * from the network.
 */
const BESIDE_THE_RECORD: ReadonlySet<string> = new Set([
  'txHash',
  'serialRange',
  'reason',
  'jurisdiction',
  'period',
  'beneficiaryId',
]);

function isSame(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return a === b;
  return namesOf(a, b).every((name) => isSame(a[name], b[name]));
}

/** The names in either object: a member that was added to a file counts as a difference. */
function namesOf(a: object, b: object): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])];
}

function onNetwork({ network }: Site, check: NetworkCheck): Step {
  const question = `Does the network say the same, now?`;
  switch (check.outcome) {
    case 'SAME':
      return step(
        question,
        'PASSED',
        `The token’s record on ${network.name} was read just now: beneficiary, amount, time, note and address are the same.`,
      );
    case 'DIFFERENT':
      return step(question, 'FAILED', `The token’s record differs in ${check.fields.join(', ')}.`);
    case 'MISSING':
      return step(question, 'FAILED', 'The token has no record at this index.');
    case 'NO_ANSWER':
      return step(
        question,
        'OPEN',
        `${network.name} did not answer within three seconds. Try again in a minute.`,
      );
  }
}

const BROKEN_PROOFS = {
  NO_CHECKPOINT: 'What the proof has is no signed head of a log.',
  NOT_SIGNED: 'The head in the proof is not signed with the key of this registry’s log.',
  OTHER_NETWORK: 'The head in the proof is of the log of another network.',
  OTHER_HEAD: 'The proof names another number of leaves, or another root, than its signed head.',
  NOT_INCLUDED: 'The hashes of the proof do not lead from this retirement to the signed root.',
} as const;

function inLog(site: Site, record: CertificateRecord, inclusion: Inclusion | null): Step {
  const question = 'Is it in the public log, under a signed head?';
  if (inclusion === null) {
    const advice = 'The proof in the file is not whole: a part of it was changed or is missing.';
    return step(question, 'FAILED', advice);
  }
  if (inclusion.outcome === 'NOT_YET')
    return step(
      question,
      'OPEN',
      'It is not in the log yet, which is a few seconds behind. Try again in a moment.',
    );
  if (inclusion.outcome === 'NO_ANSWER')
    return step(question, 'OPEN', 'The log could not be read. Try again in a minute.');
  const { proof } = inclusion;
  const others = differencesOf(proof.entry, record);
  if (others.length > 0) {
    return step(question, 'FAILED', `The proof is of another entry: it differs in ${others.join(', ')}.`);
  }
  const problem = site.checkInclusion(proof);
  if (problem !== null) return step(question, 'FAILED', BROKEN_PROOFS[problem]);
  return step(
    question,
    'PASSED',
    `The proof leads from leaf ${proof.leafIndex} to the root of ${proof.treeSize} leaves, which the log ${shown(originOf(proof), 200)} has signed.`,
  );
}

function step(question: string, outcome: Step['outcome'], explanation: string): Step {
  return { question, outcome, explanation };
}

/**
 * The id in a certificate's address, whichever host it names: the network decides whether the record exists.
 */
function idInAddress(text: string): string | null {
  if (!URL.canParse(text)) return null;
  return /^\/retirements\/([^/]+?)(?:\.json|\.pdf|\/badge\.svg)?$/.exec(new URL(text).pathname)?.[1] ?? null;
}
