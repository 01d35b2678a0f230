/**
 * Contradictions between submissions and their attempts. calls.ts compares submissions with their targets.
 */
import { contradictions } from './contradiction.ts';

/** True when an operator adopted the outcome from the network, so that no own attempt landed. */
const HAS_ADOPTED_OUTCOME = 's.adopted_outcome IS NOT NULL';

export const SUBMISSION_CONTRADICTIONS = contradictions({
  I7: [
    `SELECT format('submission %s has %s landed attempts', submission_id, count(*)) AS message
      FROM attempts WHERE state = 'LANDED' GROUP BY submission_id HAVING count(*) > 1`,
  ],
  I12: [
    `SELECT format('submission %s is SUCCEEDED in transaction %s, its landed attempt is %s', s.id, s.tx_hash,
        coalesce(a.hash, 'missing')) AS message
      FROM submissions s LEFT JOIN attempts a ON a.submission_id = s.id AND a.state = 'LANDED'
      WHERE s.state = 'SUCCEEDED' AND a.hash IS DISTINCT FROM s.tx_hash AND NOT (${HAS_ADOPTED_OUTCOME})`,
    `SELECT format('submission %s is %s while attempt %s is %s', s.id, s.state, a.hash, a.state) AS message
      FROM submissions s JOIN attempts a ON a.submission_id = s.id
      WHERE (a.state = 'LANDED' AND s.state <> 'SUCCEEDED')
        OR (a.state = 'OPEN' AND s.state IN ('SUCCEEDED', 'REFUSED'))`,
    `SELECT format('submission %s has %s attempts, the last of which is number %s', submission_id, count(*),
        max(number)) AS message
      FROM attempts GROUP BY submission_id HAVING count(*) <> max(number) OR min(number) <> 1`,
    `SELECT format('attempt %s belongs to submission %s, which is missing', a.hash, a.submission_id) AS message
      FROM attempts a LEFT JOIN submissions s ON s.id = a.submission_id WHERE s.id IS NULL`,
    `SELECT format('attempt %s replaces %s, which has another account, sequence or submission', a.hash, a.replaces) AS message
      FROM attempts a LEFT JOIN attempts b ON b.hash = a.replaces
      WHERE a.replaces IS NOT NULL
        AND (a.submission_id, a.source, a.sequence) IS DISTINCT FROM (b.submission_id, b.source, b.sequence)`,
  ],
});
