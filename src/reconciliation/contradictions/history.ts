/**
 * Contradictions between idempotency keys and their effects, and between audit entries and their writers'
 * counts.
 */
import { contradictions } from './contradiction.ts';

/**
 * The row that each operation with a key creates, except those of OWN_CAUSES, and the caller that the row names. The
 * key is written in the transaction of its effect.
 */
const EFFECTS = `(SELECT id, 'createProject' AS operation, developer_id AS caller_subject FROM projects
    UNION ALL SELECT id, 'retire', NULL FROM retirements
    UNION ALL SELECT id, 'setProjectPrice', set_by FROM project_prices WHERE id <> project_id
    UNION ALL SELECT id, 'prepareRetirement', prepared_by FROM holder_acts WHERE kind = 'retire'
    UNION ALL SELECT id, 'createDeposit', confirmed_by FROM receipts
    UNION ALL SELECT id, CASE WHEN depositor = 'CUSTODY' THEN 'cashOut' ELSE 'prepareCashOutDeposit' END, requested_by FROM off_ramp_sessions
    UNION ALL SELECT id, 'cancelCashOut', cancel_requested_by FROM off_ramp_sessions WHERE cancel_requested_at IS NOT NULL
    UNION ALL SELECT id, 'pledgeReceipt', pledged_by FROM receipt_pledges
    UNION ALL SELECT id, 'releasePledge', released_by FROM receipt_pledges WHERE released_at IS NOT NULL
    UNION ALL SELECT id, 'createApiKey', created_by FROM api_keys
    UNION ALL SELECT id, 'deployRampSettlement', requested_by FROM settlement_deployments)`;

/** Purchases and credit transfers, which have no row except their transfer, and the operation of their key. */
const OWN_CAUSES = `(SELECT id, CASE kind WHEN 'purchase' THEN 'purchase' ELSE 'transferCredits' END AS operation
    FROM transfers WHERE kind IN ('purchase', 'credit_transfer'))`;
const OF_OWN_CAUSE = `operation IN ('purchase', 'transferCredits')`;

/** A request that is not approved has the key of the row that it would create, under the id of that row. */
const UNAPPROVED = `(SELECT id, operation::text AS operation FROM approval_requests WHERE state <> 'APPROVED')`;

const MISSING_EFFECT = `format('key "%s" of %s by "%s" stands for %s, which is missing', k.key, k.operation, k.caller_subject,
        k.target_id)`;

export const HISTORY_CONTRADICTIONS = contradictions({
  I14: [
    // Purchases have nearly all of the keys: one join compares both directions.
    `SELECT CASE WHEN t.id IS NULL THEN ${MISSING_EFFECT}
        ELSE format('%s made %s without an idempotency key', t.operation, t.id) END AS message
      FROM ${OWN_CAUSES} AS t
      FULL JOIN (SELECT * FROM idempotency_keys WHERE ${OF_OWN_CAUSE}) AS k ON k.target_id = t.id AND k.operation = t.operation
      WHERE t.id IS NULL OR k.target_id IS NULL`,
    `SELECT format('%s made %s%s without an idempotency key', e.operation, e.id, ' for "' || e.caller_subject || '"') AS message
      FROM ${EFFECTS} AS e
      WHERE NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.target_id = e.id AND k.operation = e.operation
        AND k.caller_subject = coalesce(e.caller_subject, k.caller_subject))`,
    `SELECT ${MISSING_EFFECT} AS message
      FROM idempotency_keys k
      WHERE NOT k.${OF_OWN_CAUSE} AND NOT EXISTS (SELECT 1 FROM ${EFFECTS} AS e WHERE e.id = k.target_id AND e.operation = k.operation)
        AND NOT EXISTS (SELECT 1 FROM ${UNAPPROVED} AS u WHERE u.id = k.target_id AND u.operation = k.operation)`,
    {
      query: `SELECT format('request %s for approval of %s by "%s" has no idempotency key', r.id, r.operation, r.requested_by) AS message
      FROM approval_requests r
      WHERE r.operation IN ('createProject', 'createDeposit') AND NOT EXISTS (SELECT 1 FROM idempotency_keys k
        WHERE k.target_id = r.id AND k.operation = r.operation::text AND k.caller_subject = r.requested_by)`,
      // People make these requests, one at a time.
      incremental: 'WHOLE',
    },
    {
      query: `SELECT format('process %s wrote %s entries of the audit log, %s are pruned, and %s are there, up to number %s',
        coalesce(w.id, e.writer_id), coalesce(w.entries, 0), coalesce(w.pruned, 0), count(e.id), coalesce(max(e.number), w.pruned)) AS message
      FROM audit_writers w FULL JOIN audit_entries e ON e.writer_id = w.id
      GROUP BY w.id, e.writer_id
      HAVING w.entries - w.pruned IS DISTINCT FROM count(e.id) OR w.entries <> max(e.number)`,
      incremental: {
        query: `SELECT format('process %s wrote %s entries of the audit log, the last of which is number %s', w.id, w.entries,
        coalesce(last.number, w.pruned)) AS message
      FROM audit_writers w
      LEFT JOIN LATERAL (SELECT max(number) AS number FROM audit_entries WHERE writer_id = w.id) AS last ON true
      WHERE w.entries <> coalesce(last.number, w.pruned)
      UNION ALL SELECT format('entry %s of the audit log is number %s of process %s, %s', e.id, e.number, e.writer_id,
        CASE WHEN w.id IS NULL THEN 'which is missing' ELSE 'and there is none before it' END)
      FROM changed_audit_entries e
      LEFT JOIN audit_writers w ON w.id = e.writer_id
      WHERE w.id IS NULL OR e.number <> w.pruned + 1 AND NOT EXISTS (SELECT 1 FROM audit_entries before
        WHERE before.writer_id = e.writer_id AND before.number = e.number - 1)`,
      },
    },
    {
      query: `SELECT format('process %s has %s pruned entries of the audit log, of which %s were exported', coalesce(w.id, p.writer_id), w.pruned,
        coalesce(sum(p.to_number - p.from_number + 1), 0)) AS message
      FROM audit_writers w FULL JOIN audit_prunings p ON p.writer_id = w.id
      GROUP BY w.id, p.writer_id, w.pruned HAVING w.pruned IS DISTINCT FROM coalesce(sum(p.to_number - p.from_number + 1), 0)`,
      incremental: 'WHOLE',
    },
  ],
});
