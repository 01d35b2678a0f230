//! `simulateTransaction`, by the library that stellar-rpc uses for it.
use crate::codec::text_of;
use crate::envelope::Opened;
use crate::host::env::LedgerInfo;
use crate::host::env::e2e_invoke::RecordingInvocationAuthMode as AuthMode;
use crate::host::recording;
use crate::host::simulation::simulation::*;
use crate::host::simulation::{AutoRestoringSnapshotSource, NetworkConfig};
use crate::host::xdr::*;
use crate::ledger::{Ledger, View};
use serde_json::{Value, json};
use std::rc::Rc;

struct Simulation {
    view: View,
    snapshot: Rc<crate::state::State>,
    config: NetworkConfig,
    /// stellar-rpc simulates on the latest ledger itself, not on the next one.
    info: LedgerInfo,
}

pub fn simulate(ledger: &mut Ledger, params: &Value) -> Value {
    let Some(opened) = ledger.open(&params["transaction"]) else {
        return json!({ "error": "Could not unmarshal transaction", "latestLedger": 0 });
    };
    let view = ledger.view();
    let latest = view.sequence;
    let snapshot = Rc::new(view.state.clone());
    let config = NetworkConfig::load_from_snapshot(&*snapshot).expect("the network's own settings");
    let info = ledger.info(view.sequence, view.closed_at);
    let seed = ledger.next_seed();
    let simulation = Simulation { view, snapshot, config, info };
    let mut answer = simulation
        .run(&opened, params["authMode"].as_str().unwrap_or(""), seed)
        .unwrap_or_else(|error| json!({ "error": error }));
    answer["latestLedger"] = json!(latest);
    answer
}

impl Simulation {
    fn run(self, opened: &Opened, mode: &str, seed: [u8; 32]) -> Result<Value, String> {
        let [operation] = opened.transaction.operations.as_slice() else {
            return Err("Transaction contains more than one operation".into());
        };
        if !matches!(opened.transaction.memo, Memo::None) {
            return Err("Transaction contains a memo. Soroban transactions do not support memos.".into());
        }
        if !["", "enforce", "record", "record_allow_nonroot"].contains(&mode) {
            let modes = "enforce,record,record_allow_nonroot";
            return Err(format!("optional 'authMode' must be one of {modes} when included"));
        }
        let footprint = || {
            let data = opened.soroban().ok_or("SorobanTransactionData must be provided")?;
            Ok::<_, String>(&data.resources.footprint)
        };
        match &operation.body {
            OperationBody::InvokeHostFunction(call) => {
                self.invoke(call, mode, &opened.source_of(operation), seed)
            }
            OperationBody::ExtendFootprintTtl(extend) => self.extend(&footprint()?.read_only, extend.extend_to),
            OperationBody::RestoreFootprint(_) => self.restore(&footprint()?.read_write),
            other => Err(format!("Transaction contains unsupported operation type: {}", other.name())),
        }
    }

    fn invoke(
        self,
        call: &InvokeHostFunctionOp,
        mode: &str,
        source: &AccountId,
        seed: [u8; 32],
    ) -> Result<Value, String> {
        let has_entries = !call.auth.is_empty();
        if has_entries && mode.starts_with("record") {
            return Err(format!("cannot set authMode to '{mode}' with an auth footprint"));
        }
        let auth = match mode {
            "enforce" => AuthMode::Enforcing(call.auth.to_vec()),
            "" if has_entries => AuthMode::Enforcing(call.auth.to_vec()),
            _ => recording(mode != "record_allow_nonroot"),
        };
        let done = simulate_invoke_host_function_op(
            self.snapshot,
            &self.config,
            &SimulationAdjustmentConfig::default_adjustment(),
            &self.info,
            call.host_function.clone(),
            auth,
            source,
            seed,
            true,
        )
        .map_err(|error| format!("{error:?}"))?;
        let events: Vec<String> = done.diagnostic_events.iter().map(text_of).collect();
        let value = match &done.invoke_result {
            Ok(value) => value,
            Err(error) => return Ok(json!({ "error": error.to_string(), "events": events })),
        };
        let data = done.transaction_data.as_ref().ok_or("there is no transaction data")?;
        let entries: Vec<String> = done.auth.iter().map(text_of).collect();
        let changes: Vec<Value> = done.modified_entries.iter().filter_map(state_change).collect();
        Ok(json!({
            "transactionData": text_of(data),
            "minResourceFee": data.resource_fee.to_string(),
            "events": events,
            "results": [{ "auth": entries, "xdr": text_of(value) }],
            "stateChanges": changes,
        }))
    }

    fn extend(&self, keys: &[LedgerKey], extend_to: u32) -> Result<Value, String> {
        let restoring = AutoRestoringSnapshotSource::new(self.snapshot.clone(), &self.info)
            .map_err(|error| format!("{error:?}"))?;
        let adjustment = SimulationAdjustmentConfig::default_adjustment();
        simulate_extend_ttl_op(&restoring, &self.config, &adjustment, &self.info, keys, extend_to)
            .map(|done| prepared(&done.transaction_data))
            .map_err(|error| format!("{error:?}"))
    }

    fn restore(&self, keys: &[LedgerKey]) -> Result<Value, String> {
        let adjustment = SimulationAdjustmentConfig::default_adjustment();
        simulate_restore_op(&self.view.state, &self.config, &adjustment, &self.info, keys)
            .map(|done| prepared(&done.transaction_data))
            .map_err(|error| format!("{error:?}"))
    }
}

fn prepared(data: &SorobanTransactionData) -> Value {
    json!({ "transactionData": text_of(data), "minResourceFee": data.resource_fee.to_string() })
}

fn state_change(change: &LedgerEntryDiff) -> Option<Value> {
    let (before, after) = (change.state_before.as_ref(), change.state_after.as_ref());
    let kind = match (before, after) {
        (Some(_), Some(_)) => "updated",
        (None, _) => "created",
        (_, None) => "deleted",
    };
    Some(json!({
        "type": kind,
        "key": text_of(&after.or(before)?.to_key()),
        "before": before.map(text_of),
        "after": after.map(text_of),
    }))
}
