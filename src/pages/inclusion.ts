/**
 * The proof that a retirement is in the transparency log, as the API returns it, and the comparison of its
 * entry with a record.
 */
import { hash } from 'node:crypto';
import * as z from 'zod';
import { DomainError } from '../lib/errors.ts';
import { askFor, type Ask } from './ask.ts';
import type { CertificateRecord } from './certificateRecord.ts';
import { parseJsonObject } from '../lib/parseJson.ts';

const proofSchema = z.object({
  leafIndex: z.number(),
  /** The hashed content of the leaf: canonical JSON. */
  entry: z.string(),
  /** Hexadecimal, from the leaf to the root. */
  hashes: z.array(z.string()),
  treeSize: z.number(),
  rootHash: z.string(),
  checkpoint: z.string(),
});

export type InclusionProof = z.infer<typeof proofSchema>;

export type Inclusion =
  | { outcome: 'PROVED'; proof: InclusionProof }
  /** The record is read from the network, and not logged yet. */
  | { outcome: 'NOT_YET' }
  | { outcome: 'NO_ANSWER' };

const QUERY = `query CertificateInclusion($tokenAddress: Address!, $index: Int!) {
  retirementRecord(tokenAddress: $tokenAddress, index: $index) {
    inclusionProof { leafIndex entry hashes treeSize rootHash checkpoint }
  }
}`;

/** A log that is damaged or can't be read does not prevent the certificate. */
export async function readInclusion(
  ask: Ask,
  { tokenAddress, index }: Pick<CertificateRecord, 'tokenAddress' | 'index'>,
): Promise<Inclusion> {
  try {
    const answer = await askFor<{ retirementRecord: { inclusionProof: InclusionProof | null } | null }>(
      ask,
      QUERY,
      { tokenAddress, index },
    );
    const proof = answer.retirementRecord?.inclusionProof ?? null;
    return proof === null ? { outcome: 'NOT_YET' } : { outcome: 'PROVED', proof };
  } catch (error) {
    if (error instanceof DomainError) return { outcome: 'NO_ANSWER' };
    throw error;
  }
}

/** Reads the proof in a file, which may contain anything. */
export function readProof(value: unknown): InclusionProof | null {
  return proofSchema.safeParse(value).data ?? null;
}

/**
 * The names of the facts that differ between an entry and the record. The time is left out: a record whose
 * date changed after a rollback of its chain keeps its first date in the log.
 */
export function differencesOf(entry: string, record: CertificateRecord): string[] {
  const logged = parseJsonObject(entry);
  if (logged === null) return ['all of it'];
  const { amount, index, retiredBy, tokenAddress, beneficiary, note } = record;
  const texts = Object.entries({ beneficiary, note }).filter(
    // Of a text that is longer than an entry may have, the entry has the hash.
    ([name, text]) => logged[name] !== text && logged[`${name}Sha256`] !== hash('sha256', text),
  );
  const others = Object.entries({ amount, index, retiredBy, tokenAddress }).filter(
    ([name, value]) => logged[name] !== value,
  );
  return [...texts, ...others].map(([name]) => name);
}

/** The log's name, the first line of its head. */
export function originOf({ checkpoint }: Pick<InclusionProof, 'checkpoint'>): string {
  return checkpoint.split('\n', 1)[0] ?? '';
}
