/**
 * Contradictions between off-ramp sessions or receipts, their submissions, and the recorded provider
 * statuses.
 */
import { MANUAL_PROVIDER } from '../../ramp/providerName.ts';
import { contradictions } from './contradiction.ts';

/**
 * If a deposit needs an allowance: the allowance is under way, or another session of the receipt is served
 * first (custodyDeposits.ts).
 */
const IS_BEFORE_DEPOSIT = `(EXISTS (SELECT 1 FROM submissions s WHERE s.target_id = c.id AND s.kind = 'setAllowance' AND s.state = 'PENDING')
          OR EXISTS (SELECT 1 FROM off_ramp_sessions o JOIN submissions s ON s.target_id = o.id
            WHERE o.receipt_id = c.receipt_id AND o.id <> c.id AND s.kind IN ('setAllowance', 'depositOffRamp')
              AND s.signer = 'CUSTODY' AND s.state IN ('PENDING', 'NEEDS_REVIEW')))`;

/**
 * True when an operator has decided about the provider's last status, as isAcknowledged asks
 * (offRampMoves.ts). A review that a pause opened, and its end closed, decides nothing.
 * @param session the name of the table of sessions in the query
 */
export const isAcknowledged = (session: string) => `EXISTS (SELECT 1 FROM off_ramp_reviews r
          WHERE r.off_ramp_session_id = ${session}.id AND r.decision IS NOT NULL
            AND r.statuses_seen >= (SELECT count(*) FROM off_ramp_provider_statuses s WHERE s.off_ramp_session_id = ${session}.id))`;

/**
 * True when an operator has accepted where the tokens are. An ACCEPT before they were released, of a session
 * that was paid and went on, says nothing about its later deposit.
 * @param session the name of the table of sessions in the query
 */
export const isEndAccepted = (session: string) => hasAccept(session);

/**
 * True when the settlement contract showed no deposit to an operator who accepted where the tokens are. A
 * deposit that it showed may be lost later, which no operator has accepted.
 * @param session the name of the table of sessions in the query
 */
export const isLossAccepted = (session: string) => hasAccept(session, "r.deposit_seen = 'NONE'");

const hasAccept = (session: string, condition = 'true') => `EXISTS (SELECT 1 FROM off_ramp_reviews r
          WHERE r.off_ramp_session_id = ${session}.id AND r.decision = 'ACCEPT' AND r.closed_at >= ${session}.released_at
            AND ${condition})`;

export const OFF_RAMP_CONTRADICTIONS = contradictions({
  I8: [
    `SELECT format('off-ramp session %s is %s while its provider says %s, and no operator has decided so', c.id, c.state, c.provider_status) AS message
      FROM off_ramp_sessions c
      WHERE ((c.state IN ('REFUNDED', 'CLOSED') AND c.provider_status = 'settled')
          OR (c.state = 'SETTLED' AND c.provider_status IN ('failed', 'refunded')))
        AND NOT ${isAcknowledged('c')}`,
    `SELECT format('off-ramp session %s is %s, which does not fit its open reviews', c.id, c.state) AS message
      FROM off_ramp_sessions c
      WHERE (c.state = 'NEEDS_REVIEW')
        <> EXISTS (SELECT 1 FROM off_ramp_reviews r WHERE r.off_ramp_session_id = c.id AND r.closed_at IS NULL)`,
    `SELECT format('off-ramp session %s was both confirmed and refunded', s.target_id) AS message
      FROM submissions s WHERE s.kind IN ('confirmOffRampSettlement', 'refundOffRamp') AND s.state <> 'REFUSED'
      GROUP BY s.target_id HAVING count(*) > 1`,
  ],
  I5: [
    `SELECT format('off-ramp session %s is %s without a submission %s that says so', c.id, c.state, wanted.kind) AS message
      FROM off_ramp_sessions c
      JOIN (VALUES ('DEPOSITING', 'depositOffRamp', 'PENDING'), ('CONFIRMING', 'confirmOffRampSettlement', 'PENDING'),
        ('REFUNDING', 'refundOffRamp', 'PENDING')) AS wanted (state, kind, submission_state) ON wanted.state = c.state::text
      WHERE NOT EXISTS (SELECT 1 FROM submissions s
          WHERE s.target_id = c.id AND s.kind = wanted.kind AND s.state::text = wanted.submission_state)
        AND NOT (c.state = 'DEPOSITING' AND c.depositor = 'CUSTODY' AND ${IS_BEFORE_DEPOSIT})`,
  ],
  I13: [
    `SELECT format('receipt %s is of %s kg, of which custody has settled %s kg', r.id, r.quantity_kg, sum(c.token_amount_kg)) AS message
      FROM receipts r JOIN off_ramp_sessions c ON c.receipt_id = r.id
      WHERE c.depositor = 'CUSTODY' AND c.state = 'SETTLED'
      GROUP BY r.id, r.quantity_kg HAVING sum(c.token_amount_kg) > r.quantity_kg`,
    `SELECT format('off-ramp session %s is of receipt %s, token %s, farmer "%s", depositor %s: its receipt says token %s, farmer "%s"',
        c.id, c.receipt_id, c.token_address, c.farmer_id, c.depositor_address, r.token_address, r.farmer_id) AS message
      FROM off_ramp_sessions c LEFT JOIN receipts r ON r.id = c.receipt_id
      WHERE (c.token_address, c.farmer_id) IS DISTINCT FROM (r.token_address, r.farmer_id)
        OR (c.depositor = 'CUSTODY' AND c.depositor_address IS DISTINCT FROM (SELECT custody_address FROM installation))`,
    // A deposit or release may also be seen at the settlement contract, without its transaction.
    `SELECT format('off-ramp session %s names transaction %s for its %s, its submission says %s', c.id, named.tx_hash, named.kind,
        coalesce(s.tx_hash, 'nothing')) AS message
      FROM off_ramp_sessions c
      CROSS JOIN LATERAL (VALUES ('depositOffRamp', c.deposit_tx_hash),
        (CASE c.resolution WHEN 'SETTLE' THEN 'confirmOffRampSettlement' ELSE 'refundOffRamp' END, c.resolution_tx_hash))
        AS named (kind, tx_hash)
      LEFT JOIN submissions s ON s.target_id = c.id AND s.kind = named.kind AND s.state = 'SUCCEEDED'
      WHERE s.tx_hash IS DISTINCT FROM named.tx_hash`,
    `SELECT format('off-ramp session %s is %s after it was decided to %s', id, state, resolution) AS message
      FROM off_ramp_sessions c
      WHERE ((state = 'SETTLED' AND resolution = 'REFUND') OR (state = 'REFUNDED' AND resolution = 'SETTLE'))
        AND NOT ${isEndAccepted('c')}`,
    `SELECT format('off-ramp session %s has provider status %s, of %s seen up to number %s the last is %s', c.id,
        c.provider_status, count(h.*), max(h.number), (array_agg(h.status ORDER BY h.number DESC))[1]) AS message
      FROM off_ramp_sessions c LEFT JOIN off_ramp_provider_statuses h ON h.off_ramp_session_id = c.id
      GROUP BY c.id
      HAVING c.provider_status IS DISTINCT FROM (array_agg(h.status ORDER BY h.number DESC))[1]
        OR min(h.number) <> 1 OR max(h.number) <> count(h.*)`,
    // Only a change of the status is recorded (recordStatus).
    `SELECT format('off-ramp session %s has provider status %s twice in a row, at number %s', h.off_ramp_session_id, h.status, h.number) AS message
      FROM off_ramp_provider_statuses h
      JOIN off_ramp_provider_statuses b ON b.off_ramp_session_id = h.off_ramp_session_id AND b.number = h.number - 1
      WHERE b.status = h.status`,
    // The manual provider has sessions only for the platform, and makes their ids.
    `SELECT format('session %s of the manual provider is for off-ramp session %s, which does not name it', m.id, m.reference) AS message
      FROM manual_ramp_sessions m
      WHERE NOT EXISTS (SELECT 1 FROM off_ramp_sessions c WHERE c.id::text = m.reference AND c.provider_name = '${MANUAL_PROVIDER}'
        AND coalesce(c.provider_session_id, m.id) = m.id)`,
    // The manual provider's quote as ramp/manual/quotes.ts computes it: in the currency's smallest unit.
    `SELECT format('off-ramp session %s of %s kg at %s pays %s after a fee of %s (%s bps), which is not what its rate gives',
        id, token_amount_kg, exchange_rate, fiat_amount, fiat_fee, fee_bps) AS message
      FROM (SELECT *, div(token_amount_kg * 10::numeric ^ scale(fiat_amount), exchange_rate) AS gross
        FROM off_ramp_sessions WHERE provider_name = '${MANUAL_PROVIDER}') AS q
      CROSS JOIN LATERAL (SELECT div(gross * fee_bps + 9999, 10000) AS fee) AS f
      WHERE fee_bps IS NULL OR fiat_fee * 10::numeric ^ scale(fiat_amount) <> fee
        OR fiat_amount * 10::numeric ^ scale(fiat_amount) <> gross - fee`,
  ],
});
