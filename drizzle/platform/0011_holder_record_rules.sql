-- As before; and what a retirement became is set once, too.
DROP TRIGGER holder_acts_rules ON holder_acts;
--> statement-breakpoint
CREATE TRIGGER holder_acts_rules BEFORE UPDATE ON holder_acts FOR EACH ROW EXECUTE FUNCTION hold_row_rules(
  'id kind call holder prepared_by cash_out_session_id project_id format payload valid_until prepared_at_ledger created_at',
  'submission_id record_index record_tx_hash', '');
