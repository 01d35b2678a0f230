/**
 * The books against themselves, in SQL alone: no trust in triggers, checks or the program.
 */
import { sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { CASH_OUT_CONTRADICTIONS } from './cashOutContradictions.ts';
import type { Finding } from './finding.ts';
import { HOLDER_CONTRADICTIONS } from './holderContradictions.ts';

/** Findings of one kind beyond this say nothing new. */
const MAX_FINDINGS_PER_QUERY = 50;

/**
 * Each query selects what contradicts its invariant, as a sentence.
 */
const CONTRADICTIONS: readonly { invariant: string; query: string }[] = [
  {
    invariant: 'I1',
    query: `SELECT format('project %s sums to %s, not zero', project_id, sum(balance)) AS message
      FROM accounts GROUP BY project_id HAVING sum(balance) <> 0`,
  },
  {
    invariant: 'I1',
    query: `SELECT format('transfer %s has entries %s, not minus and plus %s', t.id, array_agg(e.amount), t.amount) AS message
      FROM transfers t LEFT JOIN entries e ON e.transfer_id = t.id
      GROUP BY t.id, t.amount, t.debit_account_id, t.credit_account_id
      HAVING count(e.*) <> 2
        OR sum(e.amount) <> 0
        OR bool_or(e.account_id NOT IN (t.debit_account_id, t.credit_account_id))
        OR max(e.amount) <> t.amount`,
  },
  {
    invariant: 'I1',
    query: `SELECT format('account %s (%s) has a balance of %s', id, kind, balance) AS message
      FROM accounts WHERE balance < 0 AND kind <> 'issuance'`,
  },
  {
    invariant: 'I1',
    query: `SELECT format('account %s has a balance of %s, its entries sum to %s', a.id, a.balance, coalesce(sum(e.amount), 0)) AS message
      FROM accounts a LEFT JOIN entries e ON e.account_id = a.id
      GROUP BY a.id HAVING a.balance <> coalesce(sum(e.amount), 0) OR a.version <> count(e.*)`,
  },
  {
    invariant: 'I5',
    query: `SELECT format('retirement %s is %s with transfers %s', r.id, r.state, array_agg(t.kind ORDER BY t.kind)) AS message
      FROM retirements r LEFT JOIN transfers t ON t.reference_id = r.id
      GROUP BY r.id, r.state
      HAVING array_agg(t.kind::text ORDER BY t.kind) IS DISTINCT FROM CASE r.state
        WHEN 'RETIRED' THEN ARRAY['retirement_hold', 'retirement_settle']
        WHEN 'REFUSED' THEN ARRAY['retirement_hold', 'retirement_return']
        ELSE ARRAY['retirement_hold'] END`,
  },
  {
    invariant: 'I5',
    query: `SELECT format('retirement %s is %s, its submission %s', r.id, r.state, coalesce(s.state::text, 'missing')) AS message
      FROM retirements r LEFT JOIN submissions s ON s.subject_id = r.id AND s.kind = 'retire'
      WHERE coalesce(s.state::text, 'missing') <> CASE r.state
        WHEN 'RETIRED' THEN 'SUCCEEDED' WHEN 'REFUSED' THEN 'REFUSED' WHEN 'PENDING' THEN 'PENDING' ELSE 'NEEDS_REVIEW' END`,
  },
  {
    invariant: 'I5',
    query: `SELECT format('retirement %s is REFUSED while attempt %s is %s', r.id, a.hash, a.state) AS message
      FROM retirements r JOIN submissions s ON s.subject_id = r.id JOIN attempts a ON a.submission_id = s.id
      WHERE r.state = 'REFUSED' AND a.state IN ('OPEN', 'LANDED')`,
  },
  {
    invariant: 'I6',
    query: `SELECT format('asset %s has %s live projects', asset_key, count(*)) AS message
      FROM projects WHERE state <> 'REFUSED' GROUP BY asset_key HAVING count(*) > 1`,
  },
  {
    invariant: 'I7',
    query: `SELECT format('submission %s has %s landed attempts', submission_id, count(*)) AS message
      FROM attempts WHERE state = 'LANDED' GROUP BY submission_id HAVING count(*) > 1`,
  },
  {
    invariant: 'I10',
    query: `SELECT format('token %s has %s feed records up to index %s', token_address, count(*), max(index)) AS message
      FROM retirement_records GROUP BY token_address HAVING count(*) <> max(index) + 1 OR min(index) <> 0`,
  },
  {
    invariant: 'I10',
    query: `SELECT format('the feed has %s records and ends at position %s', count(*), max(h.position)) AS message
      FROM retirement_records r CROSS JOIN feed_head h
      HAVING count(*) <> max(h.position) OR max(r.position) <> max(h.position)`,
  },
];

/** Every contradiction in the database, as of one moment. */
export async function auditBooks(db: Db): Promise<Finding[]> {
  const findings: Finding[] = [];
  await db.transaction(
    async (tx) => {
      // These read whole tables; on a long history each takes as long as it takes.
      await tx.execute(sql`SET LOCAL statement_timeout = 0`);
      for (const { invariant, query } of [
        ...CONTRADICTIONS,
        ...CASH_OUT_CONTRADICTIONS,
        ...HOLDER_CONTRADICTIONS,
      ]) {
        const rows = await tx.execute<{ message: string }>(
          sql.raw(`${query} LIMIT ${MAX_FINDINGS_PER_QUERY}`),
        );
        findings.push(...rows.map(({ message }) => ({ invariant, message })));
      }
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  );
  return findings;
}
