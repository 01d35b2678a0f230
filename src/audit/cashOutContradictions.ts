/**
 * Cash-outs and receipts against their own submissions, in SQL alone, like the books' contradictions.
 */

/** Each query selects what contradicts its invariant, as a sentence. */
export const CASH_OUT_CONTRADICTIONS: readonly { invariant: string; query: string }[] = [
  {
    // Settled at the provider and given back on the network: only with somebody's eyes on it.
    invariant: 'I8',
    query: `SELECT format('cash-out %s is %s while its provider says %s, and nobody was told', c.id, c.state, c.provider_status) AS message
      FROM cash_out_sessions c
      WHERE ((c.state IN ('REFUNDED', 'REFUSED') AND c.provider_status = 'settled')
          OR (c.state = 'SETTLED' AND c.provider_status IN ('failed', 'refunded')))
        AND NOT EXISTS (SELECT 1 FROM cash_out_reviews r WHERE r.session_id = c.id)`,
  },
  {
    invariant: 'I8',
    query: `SELECT format('cash-out %s NEEDS_REVIEW without an open review', c.id) AS message
      FROM cash_out_sessions c
      WHERE (c.state = 'NEEDS_REVIEW')
        <> EXISTS (SELECT 1 FROM cash_out_reviews r WHERE r.session_id = c.id AND r.closed_at IS NULL)`,
  },
  {
    invariant: 'I8',
    query: `SELECT format('cash-out %s was both confirmed and refunded', s.subject_id) AS message
      FROM submissions s WHERE s.kind IN ('confirmOffRampSettlement', 'refundOffRamp') AND s.state <> 'REFUSED'
      GROUP BY s.subject_id HAVING count(*) > 1`,
  },
  {
    invariant: 'I5',
    query: `SELECT format('cash-out %s is %s without a submission %s that says so', c.id, c.state, wanted.kind) AS message
      FROM cash_out_sessions c
      JOIN (VALUES ('DEPOSITING', 'initiateOffRamp', 'PENDING'), ('CONFIRMING', 'confirmOffRampSettlement', 'PENDING'),
        ('REFUNDING', 'refundOffRamp', 'PENDING')) AS wanted (state, kind, submission_state) ON wanted.state = c.state::text
      WHERE NOT EXISTS (SELECT 1 FROM submissions s
        WHERE s.subject_id = c.id AND s.kind = wanted.kind AND s.state::text = wanted.submission_state)`,
  },
  {
    invariant: 'I6',
    query: `SELECT format('receipt %s is %s without its deploy and mint', r.id, r.state) AS message
      FROM receipts r WHERE r.state IN ('ACTIVE', 'EXPIRED')
        AND (SELECT count(*) FROM submissions s WHERE s.subject_id = r.id AND s.state = 'SUCCEEDED'
          AND s.kind IN ('deployCommodityReceipt', 'mint')) <> 2`,
  },
];
