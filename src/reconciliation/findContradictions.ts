/**
 * Checks the database against itself in SQL alone, without relying on triggers, checks or the program.
 */
import { sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { BOOKS_CONTRADICTIONS } from './contradictions/books.ts';
import { CALL_CONTRADICTIONS } from './contradictions/calls.ts';
import { OFF_RAMP_CONTRADICTIONS } from './contradictions/offRampSessions.ts';
import type { Contradiction } from './contradictions/contradiction.ts';
import { FEED_CONTRADICTIONS } from './contradictions/feed.ts';
import { HISTORY_CONTRADICTIONS } from './contradictions/history.ts';
import { HOLDER_CONTRADICTIONS } from './contradictions/holders.ts';
import { POSTING_CONTRADICTIONS } from './contradictions/postings.ts';
import { RETIREMENT_CONTRADICTIONS } from './contradictions/retirements.ts';
import { SUBMISSION_CONTRADICTIONS } from './contradictions/submissions.ts';
import type { Finding } from './verdicts.ts';

/** Further findings of one query say nothing new. */
const MAX_FINDINGS_PER_QUERY = 50;

/** The queries read whole tables: minutes on a long history. */
const QUERY_TIMEOUT_MS = 30 * 60_000;

const CONTRADICTIONS: readonly Contradiction[] = [
  ...BOOKS_CONTRADICTIONS,
  ...POSTING_CONTRADICTIONS,
  ...RETIREMENT_CONTRADICTIONS,
  ...SUBMISSION_CONTRADICTIONS,
  ...CALL_CONTRADICTIONS,
  ...FEED_CONTRADICTIONS,
  ...HOLDER_CONTRADICTIONS,
  ...OFF_RAMP_CONTRADICTIONS,
  ...HISTORY_CONTRADICTIONS,
];

/** Every contradiction in the database, at one moment. */
export async function findContradictions(
  db: Db,
  contradictions: readonly Contradiction[] = CONTRADICTIONS,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  await db.transaction(
    async (tx) => {
      for (const { invariant, query } of contradictions) {
        const rows = await tx.execute<{ message: string }>(
          sql.raw(`${query} LIMIT ${MAX_FINDINGS_PER_QUERY}`),
        );
        findings.push(...rows.map(({ message }) => ({ invariant, message })));
      }
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only', statementTimeoutMs: QUERY_TIMEOUT_MS },
  );
  return findings;
}
