/**
 * Contradictions between a submission's call or result and its target.
 */
import { contradictions } from './contradiction.ts';

/** The amount in a stored call (exactJson.ts). */
const AMOUNT = `(s.call -> 'amount' ->> '$integer')::numeric`;
const BASE_UNITS = `(10::numeric ^ 18)`;
const CUSTODY = `(SELECT custody_address FROM installation)`;

const jsonInteger = (value: string) => `jsonb_build_object('$integer', (${value})::bigint::text)`;
const jsonBaseUnits = (value: string) =>
  `jsonb_build_object('$integer', (${value} * ${BASE_UNITS})::numeric(78, 0)::text)`;
const NO_DOCUMENT = `'0x' || repeat('0', 64)`;

/**
 * The metadata with which the tokens of projects and receipts were created (createProject.ts,
 * createDeposit.ts).
 */
const PROJECT_METADATA = `jsonb_build_object('creditType', credit_type, 'verificationBodyRef', verification_body_ref,
  'vintageYear', vintage_year, 'quantityCO2e', ${jsonBaseUnits('quantity_tonnes')}, 'projectLocation', project_location,
  'projectType', project_type, 'verificationDocHash', ${NO_DOCUMENT},
  'lastUpdated', ${jsonInteger('floor(extract(epoch FROM created_at))')})`;
export const RECEIPT_METADATA = `jsonb_build_object('commodityType', commodity_type, 'quantityKg', ${jsonInteger('quantity_kg')},
  'gradeClassification', grade_classification, 'warehouseId', warehouse_id, 'warehouseLocation', warehouse_location,
  'depositDate', ${jsonInteger('deposit_date')}, 'expiryDate', ${jsonInteger('expiry_date')},
  'inspectionReportHash', inspection_report_hash, 'valuationUSD', ${jsonBaseUnits('valuation_usd')},
  'harvestSeason', harvest_season, 'lastUpdated', ${jsonInteger('deposit_date')})`;

export const CALL_CONTRADICTIONS = contradictions({
  I12: [
    `SELECT format('submission %s is to %s, its call is to %s', s.id, s.kind, s.call ->> 'kind') AS message
      FROM submissions s WHERE s.kind IS DISTINCT FROM s.call ->> 'kind'`,
    `SELECT format('submission %s is to %s for %s %s, which is missing', s.id, s.kind, s.target_type,
        s.target_id) AS message
      FROM submissions s
      WHERE NOT CASE s.target_type
        WHEN 'PROJECT' THEN EXISTS (SELECT 1 FROM projects x WHERE x.id = s.target_id)
        WHEN 'RETIREMENT' THEN EXISTS (SELECT 1 FROM retirements x WHERE x.id = s.target_id)
        WHEN 'RECEIPT' THEN EXISTS (SELECT 1 FROM receipts x WHERE x.id = s.target_id)
        WHEN 'OFF_RAMP_SESSION' THEN EXISTS (SELECT 1 FROM off_ramp_sessions x WHERE x.id = s.target_id)
        WHEN 'HOLDER_ACT' THEN EXISTS (SELECT 1 FROM holder_acts x WHERE x.id = s.target_id)
        WHEN 'SETTLEMENT_DEPLOYMENT'
          THEN EXISTS (SELECT 1 FROM settlement_deployments x WHERE x.id = s.target_id) END`,
    `SELECT format('submission %s burns otherwise than retirement %s says: %s', s.id, r.id, s.call) AS message
      FROM submissions s JOIN retirements r ON r.id = s.target_id LEFT JOIN projects p ON p.id = r.project_id
      WHERE (s.call ->> 'tokenAddress', ${AMOUNT}, s.call ->> 'beneficiary', s.call ->> 'note')
          IS DISTINCT FROM (p.token_address, r.amount_tonnes * ${BASE_UNITS}, r.beneficiary, r.note)`,
    `SELECT format('retirement %s claims record %s in transaction %s, its submission landed in %s with %s', r.id,
        r.record_index, r.tx_hash, s.tx_hash, s.result) AS message
      FROM retirements r JOIN submissions s ON s.target_id = r.id AND s.state = 'SUCCEEDED'
      WHERE (r.tx_hash, r.record_index::text) IS DISTINCT FROM (s.tx_hash, s.result ->> 'retirementIndex')`,
    `SELECT format('submission %s mints otherwise than %s %s says: %s', s.id, x.what, x.id, s.call) AS message
      FROM submissions s
      JOIN (SELECT 'project' AS what, id, token_address, ${CUSTODY} AS holder, quantity_tonnes AS quantity FROM projects
        UNION ALL SELECT 'receipt', id, token_address, farmer_address, quantity_kg FROM receipts) AS x ON x.id = s.target_id
      WHERE s.kind = 'mint' AND (s.call ->> 'tokenAddress', s.call ->> 'to', ${AMOUNT})
        IS DISTINCT FROM (x.token_address, x.holder, x.quantity * ${BASE_UNITS})`,
    `SELECT format('submission %s deploys otherwise than %s %s says: %s', s.id, x.what, x.id, s.call) AS message
      FROM submissions s
      JOIN (SELECT 'project' AS what, id, deploy_salt, token_name, token_symbol, asset_id, country_code, token_address,
          ${PROJECT_METADATA} AS metadata FROM projects
        UNION ALL SELECT 'receipt', id, deploy_salt, token_name, token_symbol, asset_id, country_code, token_address,
          ${RECEIPT_METADATA} FROM receipts) AS x ON x.id = s.target_id
      WHERE s.kind IN ('deployCarbonCredit', 'deployCommodityReceipt')
        AND ((s.call ->> 'salt', s.call ->> 'name', s.call ->> 'symbol', s.call ->> 'assetId', s.call ->> 'countryCode',
              s.call -> 'metadata')
            IS DISTINCT FROM (x.deploy_salt, x.token_name, x.token_symbol, x.asset_id, x.country_code, x.metadata)
          OR (s.state = 'SUCCEEDED' AND s.result ->> 'contractAddress' IS DISTINCT FROM x.token_address))`,
    `SELECT format('submission %s deploys the settlement contract otherwise than deployment %s says: %s', s.id, d.id, s.call) AS message
      FROM submissions s JOIN settlement_deployments d ON d.id = s.target_id
      WHERE (s.call ->> 'salt', s.call ->> 'treasury') IS DISTINCT FROM (d.deploy_salt, d.treasury_address)
        OR (s.state = 'SUCCEEDED' AND s.result ->> 'contractAddress' IS DISTINCT FROM d.settlement_address)`,
    // No call is under way beside the mint that succeeded: it would mint again.
    `SELECT format('%s %s is %s, and its calls are %s', x.what, x.id, x.state,
        array_agg(s.kind || ' ' || s.state ORDER BY s.kind, s.state)) AS message
      FROM (SELECT 'project' AS what, id, state::text, token_address, state = 'OPEN' AS is_minted, 'deployCarbonCredit' AS deploy FROM projects
        UNION ALL SELECT 'receipt', id, state::text, token_address, state IN ('ACTIVE', 'EXPIRED'), 'deployCommodityReceipt' FROM receipts) AS x
      LEFT JOIN submissions s ON s.target_id = x.id AND s.state <> 'REFUSED' AND s.kind <> 'markExpired'
      GROUP BY x.what, x.id, x.state, x.token_address, x.is_minted, x.deploy
      HAVING array_agg(s.kind ORDER BY s.kind) FILTER (WHERE s.state = 'SUCCEEDED') IS DISTINCT FROM CASE
        WHEN x.is_minted THEN ARRAY[x.deploy, 'mint'] WHEN x.token_address IS NOT NULL THEN ARRAY[x.deploy] END
        OR count(*) > 2`,
    `SELECT format('retirement %s landed in ledger %s, its attempt in %s', r.id, r.ledger, a.ledger) AS message
      FROM retirements r JOIN submissions s ON s.target_id = r.id
      JOIN attempts a ON a.submission_id = s.id AND a.state = 'LANDED'
      WHERE r.ledger IS DISTINCT FROM a.ledger`,
    `SELECT format('receipt %s expired in transaction %s, its submission in %s', r.id, r.expired_tx_hash, s.tx_hash) AS message
      FROM receipts r
      LEFT JOIN submissions s ON s.target_id = r.id AND s.kind = 'markExpired' AND s.state = 'SUCCEEDED'
      WHERE s.tx_hash IS DISTINCT FROM r.expired_tx_hash`,
    `SELECT format('submission %s moves otherwise than off-ramp session %s says: %s', s.id, c.id, s.call) AS message
      FROM submissions s JOIN off_ramp_sessions c ON c.id = s.target_id
      WHERE CASE s.kind
        WHEN 'depositOffRamp' THEN (s.call ->> 'sessionId', s.call ->> 'tokenAddress', ${AMOUNT})
          IS DISTINCT FROM (c.provider_session_id, c.token_address, c.token_amount_kg * ${BASE_UNITS})
        WHEN 'setAllowance' THEN (s.call ->> 'tokenAddress', ${AMOUNT})
          IS DISTINCT FROM (c.token_address, c.token_amount_kg * ${BASE_UNITS})
        ELSE s.call ->> 'sessionId' IS DISTINCT FROM c.provider_session_id END`,
    `SELECT format('%s %s is to be sent to %s, its call says %s', s.kind, s.id, r.token_address, s.call) AS message
      FROM submissions s JOIN receipts r ON r.id = s.target_id
      WHERE s.kind = 'markExpired' AND s.call ->> 'tokenAddress' IS DISTINCT FROM r.token_address`,
  ],
});
