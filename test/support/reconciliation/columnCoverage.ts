/**
 * The coverage of a reconciliation: for a change of each column, for a deleted row and for a forged one, the
 * invariant that it finds broken, or why it finds nothing. docs/invariants.md lists the latter.
 */
import type { Invariant } from '../../../src/reconciliation/verdicts.ts';

/**
 * Names of columns, separated by spaces. `DELETED` and `FORGED` mean whole rows, `*` means everything in a
 * table.
 */
export type Places = string;

/** Columns for which different kinds of rows break different invariants, or some kinds are not found. */
interface Partly {
  by: readonly Invariant[];
  places: Places;
  /** Matches names of corruptions (generatedCorruptions.ts) that are not found; `because` says why. */
  except?: RegExp;
  because?: string;
}

type TableCoverage = Partial<Record<Invariant, Places>> & {
  partly?: readonly Partly[];
  notFound?: readonly (readonly [because: string, places: Places])[];
};

const TIME = 'Times that no other row shows. Other columns prove the order of events';
const WORK = 'Due times and counts of tries. They decide when work is done, not what is done';
const WORDS = 'Texts for people: reasons, and the messages of the network';
const SIGNED = 'How an attempt was signed. The network shows only the hashes of attempts that landed';
const REFUSED = 'Network calls that ended without an effect';
const ACCESS = 'Who may call. The audit log shows who called, and with which key';
const KEYS = 'Idempotency keys and hashes of inputs that no other row shows';
const PAYOUT =
  'The destination of a payout, which only the provider knows. The account is sealed, and no check compares it';
const PLEDGES = 'The terms between a farmer and a lender, which no other row shows';
const BOOKKEEPING =
  'Positions from which a log or a job continues. A wrong position stops it, or makes it read the same rows again';
const INSTALLATION = 'The network of the database. The server refuses to start with another network';
const OTHERS = "Transactions of other accounts' records, which the token does not show";
const NOTED = 'Facts that are not stored yet. The platform looks at them again';
const RUNS = 'What a run of the expiry job saw. Receipts and the transactions that expired them are compared';
const CAPS = 'Limits that operators set, which no other row shows';
const DECIDED =
  'Requests and decisions of people. Their effects are compared, and the audit log shows who made them';
const HALTS = 'When and why signing stopped, and what ended the halt, which no other row shows';
const FILES = "Facts about the operator's file of old audit entries, which an operator compares by hand";
const PROGRAM = 'The version and the start of the program that wrote entries, which no other row shows';
const INDEXER = 'Hints and rate limits. Losing them costs only time';

/** Cash-outs that ended before the provider knew them. */
const NOT_AT_PROVIDER = /CLOSED CUSTODY MOBILE_MONEY \w+$/;

export const COVERAGE: Readonly<Record<string, TableCoverage>> = {
  accounts: { I1: 'id balance_tonnes version FORGED', I11: 'kind project_id DELETED', I15: 'owner_id' },
  api_keys: {
    I14: 'id created_by DELETED FORGED',
    I16: 'revoked_by revoked_at',
    notFound: [[ACCESS, 'name key_hash subject roles warehouse_ids created_at expires_at last_used_at']],
  },
  approval_requests: {
    I14: 'id operation requested_by FORGED',
    I16: 'state expires_at',
    partly: [
      { by: ['I14'], places: 'DELETED', except: /APPROVED/, because: DECIDED },
      { by: ['I16'], places: 'decided_by decided_at refusal_reason', except: /changed/, because: DECIDED },
    ],
    notFound: [[DECIDED, 'input target_id basis requested_with_key requested_at decided_with_key']],
  },
  attempts: {
    I12: 'submission_id number state replaces FORGED',
    partly: [
      { by: ['I12'], places: 'hash', except: /OPEN/, because: SIGNED },
      { by: ['I16'], places: 'decided_at evidence', except: /LANDED changed/, because: TIME },
      {
        by: ['I12', 'I16'],
        places: 'ledger',
        except: /^(?!.* retire CUSTODY|.* LANDED emptied$)|OPEN/,
        because: SIGNED,
      },
      { by: ['I12'], places: 'DELETED', except: /OPEN/, because: SIGNED },
      { by: ['I7'], places: 'source', except: /CUSTODY/, because: SIGNED },
    ],
    notFound: [
      [SIGNED, 'sequence signed_bytes valid_until prepared_at_ledger'],
      [TIME, 'created_at'],
      [WORDS, 'cause'],
    ],
  },
  audit_entries: {
    I14: 'writer_id',
    I15: `id kind number started_at request_id caller_subject caller_roles api_key_id remote_address field outcome ended_at
      target_ids DELETED FORGED`,
  },
  audit_prunings: {
    I14: 'writer_id from_number to_number DELETED FORGED',
    notFound: [[FILES, 'sha256 pruned_at']],
  },
  audit_writers: {
    I14: 'id entries pruned DELETED FORGED',
    notFound: [[PROGRAM, 'started_at program_version']],
  },
  expiry_items: {
    I16: 'state',
    partly: [{ by: ['I16'], places: 'decided_at', except: /changed/, because: RUNS }],
    notFound: [[RUNS, 'run_id receipt_id message DELETED FORGED']],
  },
  expiry_runs: {
    I16: 'due_at',
    partly: [
      { by: ['I16'], places: 'night swept_at', except: /changed/, because: TIME },
      { by: ['I16'], places: 'requested_by', except: /changed/, because: RUNS },
      { by: ['I16'], places: 'trigger', except: /NIGHTLY|CATCH_UP/, because: RUNS },
    ],
    notFound: [[RUNS, 'id started_at ended_at fruitless_steps problem DELETED FORGED']],
  },
  feed_head: { I10: 'position DELETED', I16: 'singleton FORGED' },
  final_ledger: { notFound: [[INSTALLATION, '*']] },
  holder_acts: {
    I4: 'holder_address',
    I5: 'kind call submission_id',
    I14: 'id prepared_by DELETED FORGED',
    I16: 'off_ramp_session_id',
    partly: [
      { by: ['I4'], places: 'project_id', except: /emptied/, because: SIGNED },
      { by: ['I5', 'I10'], places: 'record_index' },
    ],
    notFound: [
      [SIGNED, 'format payload valid_until prepared_at_ledger'],
      [TIME, 'created_at'],
    ],
  },
  idempotency_keys: {
    I14: 'operation target_id DELETED',
    partly: [
      {
        by: ['I14'],
        places: 'caller_subject',
        except: /of (purchase|retire|transferCredits) /,
        because: KEYS,
      },
      { by: ['I11'], places: 'input_hash', except: /^(?!.*of (purchase|transferCredits) )/, because: KEYS },
    ],
    notFound: [[KEYS, 'key FORGED']],
  },
  indexer_events: { notFound: [[INDEXER, '*']] },
  indexer_registrations: { notFound: [[INDEXER, '*']] },
  installation: {
    I12: 'custody_address DELETED',
    I16: 'singleton FORGED',
    notFound: [[INSTALLATION, 'network_name network_id created_at']],
  },
  issuance_caps: { notFound: [[CAPS, '*']] },
  manual_ramp_sessions: {
    I13: 'id reference fiat_currency fiat_amount DELETED FORGED',
    notFound: [[TIME, 'created_at']],
  },
  manual_ramp_statuses: {
    partly: [
      {
        by: ['I8', 'I16'],
        places: 'status',
        except: /^(?!.*of (closed|SETTLED settled))/,
        because: DECIDED,
      },
      { by: ['I8'], places: 'session_id DELETED', except: /^(?!.*of SETTLED settled)/, because: DECIDED },
      { by: ['I16'], places: 'set_by', except: /changed|filled|failed/, because: DECIDED },
    ],
    notFound: [[DECIDED, 'number payment_reference approval_request_id set_at FORGED']],
  },
  off_ramp_provider_statuses: {
    I13: 'off_ramp_session_id number DELETED FORGED',
    partly: [
      { by: ['I13'], places: 'status', except: /of (REFUNDED|CLOSED|SETTLED) pending/, because: PAYOUT },
    ],
    notFound: [[TIME, 'observed_at']],
  },
  off_ramp_reviews: {
    partly: [
      {
        by: ['I16'],
        places: 'decision decided_by reason closed_at deposit_seen statuses_seen',
        except: /changed/,
        because: DECIDED,
      },
    ],
    notFound: [
      [
        DECIDED,
        'id off_ramp_session_id flagged_because state_before opened_at approval_request_id DELETED FORGED',
      ],
    ],
  },
  operator_decisions: {
    notFound: [
      [
        DECIDED,
        'id submission_id decision decided_by reason basis approval_request_id decided_at DELETED FORGED',
      ],
    ],
  },
  off_ramp_sessions: {
    I13: `receipt_id token_address token_amount_kg farmer_id depositor_address fiat_amount fiat_fee fee_bps exchange_rate
      provider_status deposit_tx_hash resolution_tx_hash`,
    I14: 'id requested_by depositor cancel_requested_at DELETED FORGED',
    I16: 'signature_due_at cancel_requested_by payout_account_erased_at',
    partly: [
      { by: ['I13', 'I16', 'I12'], places: 'provider_session_id' },
      {
        by: ['I16'],
        places: 'sealed_payout_account masked_account_number',
        except: /changed/,
        because: PAYOUT,
      },
      { by: ['I16'], places: 'ended_at', except: /changed|filled/, because: TIME },
      { by: ['I16'], places: 'deposited_at released_at', except: /changed/, because: TIME },
      {
        by: ['I16'],
        places: 'provider_asked_at',
        except: /changed$|CLOSED CUSTODY MOBILE_MONEY emptied$/,
        because: TIME,
      },
      { by: ['I16'], places: 'state_reason', except: /changed|filled/, because: WORDS },
      {
        by: ['I13', 'I16'],
        places: 'resolution',
        except: /filled$|of REFUNDED .* emptied$/,
        because: REFUSED,
      },
      { by: ['I16', 'I5', 'I13'], places: 'state', except: /of CLOSED/, because: REFUSED },
      {
        by: ['I13', 'I16', 'I12'],
        places: 'provider_name fiat_currency',
        except: NOT_AT_PROVIDER,
        because: REFUSED,
      },
      {
        by: ['I13', 'I16', 'I12'],
        places: 'settlement_address',
        // No contract has a deposit of a session that failed before one.
        except: /CLOSED CUSTODY MOBILE_MONEY (\w+|failed changed)$/,
        because: REFUSED,
      },
    ],
    notFound: [
      [PAYOUT, 'country_code payout_account_type'],
      [TIME, 'created_at quote_expires_at'],
      [WORK, 'due_at fruitless_steps hints'],
      [DECIDED, 'review_version'],
      [WORDS, 'refusal_code'],
    ],
  },
  project_prices: {
    I11: 'project_id number price_per_tonne price_currency DELETED FORGED',
    I14: 'id set_by',
    notFound: [[TIME, 'created_at']],
  },
  projects: {
    I12: `id state asset_id credit_type verification_body_ref vintage_year quantity_tonnes project_location project_type country_code
      token_name token_symbol deploy_salt token_address created_at DELETED FORGED`,
    I15: 'asset_key developer_id',
    partly: [{ by: ['I16'], places: 'opened_at', except: /changed|filled/, because: TIME }],
    notFound: [[WORDS, 'state_reason']],
  },
  rate_limits: { notFound: [[INDEXER, '*']] },
  receipt_pledges: {
    I14: 'id pledged_by DELETED FORGED',
    partly: [
      { by: ['I14', 'I16'], places: 'released_by' },
      { by: ['I14'], places: 'released_at', except: /changed/, because: TIME },
    ],
    notFound: [
      [PLEDGES, 'receipt_id lender_name lender_id loan_reference'],
      [TIME, 'pledged_at'],
    ],
  },
  receipts: {
    I12: `id state asset_id commodity_type quantity_kg grade_classification warehouse_location harvest_season inspection_report_hash
      valuation_usd country_code token_name token_symbol farmer_address deposit_date expiry_date deploy_salt token_address
      expired_tx_hash warehouse_id DELETED FORGED`,
    I14: 'confirmed_by',
    I13: 'farmer_id',
    I16: 'asset_millis',
    partly: [{ by: ['I16'], places: 'activated_at expired_at', except: /changed/, because: TIME }],
    notFound: [
      [TIME, 'created_at'],
      [WORDS, 'state_reason'],
    ],
  },
  reconciled_invariants: { notFound: [[BOOKKEEPING, '*']] },
  reconciliation_schedule: {
    I16: 'singleton FORGED',
    notFound: [[BOOKKEEPING, 'due_at full_due_at DELETED']],
  },
  retirement_records: {
    I10: 'position project_id token_address index amount_base_units DELETED FORGED',
    I15: 'retired_by timestamp first_timestamp beneficiary note',
    partly: [
      { by: ['I10'], places: 'tx_hash', except: /emptied|foreign/, because: OTHERS },
      { by: ['I10'], places: 'is_claimed', except: /ours/, because: NOTED },
    ],
    notFound: [[TIME, 'appended_at']],
  },
  retirement_totals: {
    I10: 'project_id country_code vintage_year day amount_base_units retirements DELETED FORGED',
  },
  retirements: {
    I5: 'id state settled_at FORGED',
    I11: 'project_id buyer_id amount_tonnes DELETED',
    I12: 'beneficiary note',
    I15: 'beneficiary_id jurisdiction reason period_from period_until created_at',
    partly: [
      { by: ['I12', 'I16'], places: 'tx_hash record_index' },
      { by: ['I12'], places: 'ledger', except: /filled/, because: WORDS },
    ],
    notFound: [[WORDS, 'state_reason']],
  },
  settlement_deployments: {
    I12: 'treasury_address deploy_salt settlement_address',
    I14: 'id requested_by DELETED FORGED',
    I16: 'state',
    notFound: [
      [TIME, 'created_at'],
      [WORDS, 'state_reason'],
    ],
  },
  signing_accounts: { notFound: [[SIGNED, '*']] },
  signing_halts: { notFound: [[HALTS, '*']] },
  submissions: {
    I12: 'kind target_type target_id',
    partly: [
      { by: ['I12', 'I5'], places: 'id', except: /REFUSED/, because: REFUSED },
      { by: ['I12', 'I5'], places: 'call' },
      { by: ['I12', 'I5'], places: 'signer', except: / HOLDER /, because: SIGNED },
      { by: ['I12', 'I13', 'I16'], places: 'tx_hash result', except: /filled/, because: WORDS },
      { by: ['I12', 'I13', 'I6', 'I5', 'I16', 'I8'], places: 'state' },
      { by: ['I16'], places: 'settled_at', except: /changed/, because: TIME },
      {
        by: ['I12', 'I13', 'I6', 'I5', 'I16'],
        places: 'DELETED',
        except: /OffRamp.*REFUSED/,
        because: REFUSED,
      },
      {
        by: ['I12', 'I5', 'I6', 'I8'],
        places: 'FORGED',
        except: /REFUSED|PENDING|NEEDS_REVIEW/,
        because: REFUSED,
      },
      { by: ['I16'], places: 'review_cause', except: /changed/, because: WORDS },
    ],
    notFound: [
      [WORK, 'due_at attempts_before_resume resumptions fruitless_steps failed_steps failed_settlements'],
      [WORDS, 'refusal_reason state_reason'],
      [TIME, 'created_at'],
      [REFUSED, 'adopted_outcome'],
    ],
  },
  token_revocations: { notFound: [[ACCESS, '*']] },
  transfers: {
    I1: 'debit_version debit_balance_tonnes credit_version credit_balance_tonnes amount_tonnes',
    I15: `id project_id kind cause_id debit_account_id credit_account_id price_per_tonne price_currency created_at DELETED FORGED`,
    partly: [{ by: ['I15', 'I16'], places: 'memo' }],
    notFound: [[BOOKKEEPING, 'written_in']],
  },
  transparency_audit_writers: { notFound: [[BOOKKEEPING, '*']] },
  transparency_checkpoints: {
    I15: 'size checkpoint FORGED',
    I16: 'log',
    notFound: [[BOOKKEEPING, 'created_at DELETED']],
  },
  transparency_heads: {
    I15: 'size root checkpoint DELETED',
    I16: 'log FORGED',
    notFound: [[BOOKKEEPING, 'updated_at written_in row_id database']],
  },
  transparency_open_entries: { notFound: [[BOOKKEEPING, '*']] },
  transparency_tiles: {
    I15: 'log level index hashes DELETED FORGED',
    partly: [{ by: ['I15', 'I16'], places: 'row_ids' }],
  },
};
