/**
 * Contradictions between retirements, their transfers, their submission and its attempts; and between
 * projects.
 */
import { contradictions } from './contradiction.ts';

export const RETIREMENT_CONTRADICTIONS = contradictions({
  I5: [
    `SELECT format('retirement %s is %s with transfers %s', r.id, r.state, array_agg(t.kind ORDER BY t.kind)) AS message
      FROM retirements r LEFT JOIN transfers t ON t.cause_id = r.id
      GROUP BY r.id, r.state
      HAVING array_agg(t.kind::text ORDER BY t.kind) <> CASE r.state
        WHEN 'RETIRED' THEN ARRAY['retirement_hold', 'retirement_settle']
        WHEN 'REFUSED' THEN ARRAY['retirement_hold', 'retirement_return']
        ELSE ARRAY['retirement_hold'] END`,
    `SELECT format('retirement %s is %s, its submission %s', r.id, r.state, coalesce(s.state::text, 'missing')) AS message
      FROM retirements r LEFT JOIN submissions s ON s.target_id = r.id AND s.kind = 'retire'
      WHERE coalesce(s.state::text, 'missing') <> CASE r.state
        WHEN 'RETIRED' THEN 'SUCCEEDED' WHEN 'REFUSED' THEN 'REFUSED' WHEN 'PENDING' THEN 'PENDING' ELSE 'NEEDS_REVIEW' END`,
    `SELECT format('retirement %s was settled at %s, its credits moved at %s', r.id, r.settled_at, t.created_at) AS message
      FROM retirements r
      LEFT JOIN transfers t ON t.cause_id = r.id AND t.kind IN ('retirement_settle', 'retirement_return')
      WHERE r.settled_at IS DISTINCT FROM t.created_at`,
  ],
  I6: [
    {
      query: `SELECT format('asset %s has %s live projects', asset_key, count(*)) AS message
      FROM projects WHERE state <> 'REFUSED' GROUP BY asset_key HAVING count(*) > 1`,
      incremental: 'WHOLE',
    },
  ],
});
