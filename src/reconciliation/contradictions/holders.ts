/**
 * Contradictions between holders' acts, their submissions, and the tokens' records.
 */
import { contradictions } from './contradiction.ts';

export const HOLDER_CONTRADICTIONS = contradictions({
  I4: [
    `SELECT format('holder''s retirement %s claims record %s, which says otherwise', h.id, h.record_index) AS message
      FROM holder_acts h JOIN retirement_records r ON r.project_id = h.project_id AND r.index = h.record_index
      WHERE r.retired_by <> h.holder_address OR r.amount_base_units <> (h.call -> 'amount' ->> '$integer')::numeric
        OR r.beneficiary <> h.call ->> 'beneficiary' OR r.note <> h.call ->> 'note'`,
  ],
  I5: [
    `SELECT format('submission %s is signed by a holder, and no act that was prepared is submitted by it', s.id) AS message
      FROM submissions s
      WHERE s.signer = 'HOLDER' AND NOT EXISTS (SELECT 1 FROM holder_acts h JOIN submissions u ON u.id = h.submission_id
        WHERE h.kind = s.kind AND h.call = s.call
          AND (u.id = s.id OR (s.refusal_reason = 'EXPIRED' AND u.target_id = s.target_id)))`,
    `SELECT format('holder''s retirement %s has record %s, its submission is %s', h.id, coalesce(h.record_index::text, 'none'),
        coalesce(s.state::text, 'missing')) AS message
      FROM holder_acts h LEFT JOIN submissions s ON s.id = h.submission_id
      WHERE h.kind = 'retire' AND (s.state IS NOT DISTINCT FROM 'SUCCEEDED') <> (h.record_index IS NOT NULL)`,
  ],
  I7: [
    // Only the holder may have signed, never custody.
    `SELECT format('attempt %s for holder %s is signed by %s', a.hash, h.holder_address, a.source) AS message
      FROM attempts a JOIN holder_acts h ON h.submission_id = a.submission_id WHERE a.source <> h.holder_address`,
  ],
});
