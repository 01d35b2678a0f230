//! Invokes a contract in a ledger: the host runs it on the footprint's entries, within the declared limits.
use crate::apply::{At, Outcome};
use crate::codec::{decoded, encoded, sha256};
use crate::envelope::Opened;
use crate::fees::resource_fees;
use crate::host::env::budget::Budget;
use crate::host::env::e2e_invoke::{InvokeHostFunctionResult as HostResult, LedgerEntryChange as HostChange, extract_rent_changes};
use crate::host::env::fees::compute_rent_fee;
use crate::host::env::ledger_info::get_key_durability;
use crate::host::xdr::*;
use crate::host::{Invocation, invoke};
use crate::ledger::Ledger;
use crate::state::{Changes, State, Stored, life_entry};
use InvokeHostFunctionResult as R;
use std::collections::HashSet;
use std::rc::Rc;

/// The entries that the footprint's keys name.
struct Loaded<'a> {
    entries: Vec<(&'a LedgerKey, Option<Stored>)>,
    restored: Vec<u32>,
}

impl Ledger {
    pub fn apply_invocation(&self, opened: &Opened, call: &InvokeHostFunctionOp, source: &AccountId, at: At) -> Outcome {
        let Some(data) = opened.soroban() else { return failure(R::Malformed, vec![]) };
        let resources = &data.resources;
        let loaded = match self.load(opened, resources, at.ledger) {
            Ok(loaded) => loaded,
            Err((result, why)) => return failure(result, vec![why]),
        };
        let compute = &self.settings.compute;
        let budget = self.budget(resources.instructions.into(), compute.tx_memory_limit.into());
        let mut diagnostics = vec![];
        let invocation = Invocation {
            budget: &budget,
            diagnoses: self.options.diagnoses,
            function: &call.host_function,
            resources,
            restored: &loaded.restored,
            source,
            authorizations: call.auth.iter().map(encoded).collect(),
            info: self.info(at.ledger, at.time),
            entries: loaded.entries,
            seed: sha256(&opened.hash),
            modules: self.modules.clone(),
        };
        let done = invoke(invocation, &mut diagnostics);
        let value = done.as_ref().ok().and_then(|done| done.encoded_invoke_result.as_ref().ok());
        let (Ok(done), Some(value)) = (&done, value) else {
            let used = budget.get_cpu_insns_consumed().unwrap_or(0);
            let memory = budget.get_mem_bytes_consumed().unwrap_or(0);
            let is_exhausted = used > resources.instructions.into() || memory > compute.tx_memory_limit.into();
            if !is_exhausted {
                return self.told(failure(R::Trapped, diagnostics));
            }
            let why = "operation instructions exceeds amount specified";
            diagnostics.push(core_error(why, &[used, resources.instructions.into()]));
            return self.told(failure(R::ResourceLimitExceeded, diagnostics));
        };
        let outcome = match self.settle(opened, done, value, at.ledger) {
            Ok(spent) => self.succeed(done, value, &loaded.restored, resources, spent, at.ledger),
            Err((result, why)) => {
                diagnostics.extend(why);
                failure(result, vec![])
            }
        };
        self.told(Outcome { diagnostics, ..outcome })
    }

    pub fn budget(&self, instructions: u64, memory: u64) -> Budget {
        let [costs, sizes] = [&self.settings.instruction_costs, &self.settings.memory_costs];
        Budget::try_from_configs(instructions, memory, costs.clone(), sizes.clone()).expect("the network's costs")
    }

    fn told(&self, outcome: Outcome) -> Outcome {
        if self.options.diagnoses { outcome } else { Outcome { diagnostics: vec![], ..outcome } }
    }

    fn load<'a>(
        &self,
        opened: &Opened,
        resources: &'a SorobanResources,
        ledger: u32,
    ) -> Result<Loaded<'a>, (R, DiagnosticEvent)> {
        let footprint = &resources.footprint;
        let readable = footprint.read_only.iter().map(|key| (key, None));
        let writable = footprint.read_write.iter().zip(0u32..).map(|(key, place)| (key, Some(place)));
        let mut loaded = Loaded { entries: vec![], restored: vec![] };
        let mut disk_bytes = 0u64;
        for (key, place) in readable.chain(writable) {
            let mut found = self.state.get(key).cloned();
            let expired = found.as_ref().and_then(|stored| stored.live_until).is_some_and(|until| until < ledger);
            let is_temporary = get_key_durability(key) == Some(ContractDataDurability::Temporary);
            if expired && is_temporary {
                found = None;
            } else if expired {
                let Some(place) = place.filter(|place| opened.restored_places().contains(place)) else {
                    let why = core_error("trying to access an archived contract data entry", &[]);
                    return Err((R::EntryArchived, why));
                };
                loaded.restored.push(place);
                found = found.map(|stored| Stored { live_until: Some(self.restored_life(ledger)), ..stored });
            }
            let is_on_disk = expired || get_key_durability(key).is_none();
            if let Some(stored) = found.as_ref().filter(|_| is_on_disk) {
                disk_bytes += encoded(&*stored.entry).len() as u64;
            }
            loaded.entries.push((key, found));
        }
        if disk_bytes > resources.disk_read_bytes.into() {
            let why = "operation byte-read resources exceeds amount specified";
            let event = core_error(why, &[disk_bytes, resources.disk_read_bytes.into()]);
            return Err((R::ResourceLimitExceeded, event));
        }
        Ok(loaded)
    }

    /// The last ledger in which an entry lives that this ledger restores.
    pub fn restored_life(&self, ledger: u32) -> u32 {
        ledger + self.settings.archival.min_persistent_ttl - 1
    }

    /// Returns the refundable fee that is spent, if the declared and offered amounts suffice.
    fn settle(
        &self,
        opened: &Opened,
        done: &HostResult,
        value: &[u8],
        ledger: u32,
    ) -> Result<i64, (R, Option<DiagnosticEvent>)> {
        let declared = opened.soroban().map_or(0, |data| data.resources.write_bytes);
        let written: usize = done
            .ledger_changes
            .iter()
            .filter(|change| !change.read_only)
            .filter_map(|change| change.encoded_new_value.as_ref())
            .map(|bytes| bytes.len())
            .sum();
        if written > declared as usize {
            let why = "operation byte-write resources exceeds amount specified";
            return Err((R::ResourceLimitExceeded, Some(core_error(why, &[written as u64, declared.into()]))));
        }
        let event_bytes = value.len() + done.encoded_contract_events.iter().map(Vec::len).sum::<usize>();
        if event_bytes > self.settings.events.tx_max_contract_events_size_bytes as usize {
            return Err((R::ResourceLimitExceeded, None));
        }
        let rent = compute_rent_fee(&extract_rent_changes(&done.ledger_changes), &self.settings.rent(), ledger);
        let (fixed, for_events) = resource_fees(&self.settings, opened, event_bytes as u32);
        let (spent, left) = (for_events + rent, opened.resource_fee() - fixed);
        if spent > left {
            let why = "refundable resource fee was not sufficient to cover the ledger storage rent and events";
            return Err((R::InsufficientRefundableFee, Some(core_error(why, &[spent as u64, left.max(0) as u64]))));
        }
        Ok(spent)
    }

    fn succeed(
        &self,
        done: &HostResult,
        value: &[u8],
        restored: &[u32],
        resources: &SorobanResources,
        spent: i64,
        ledger: u32,
    ) -> Outcome {
        let writable = &resources.footprint.read_write;
        let keys: HashSet<&LedgerKey> = restored.iter().map(|place| &writable[*place as usize]).collect();
        let changes = changes_of(&self.state, &done.ledger_changes, &keys, ledger);
        let events: Vec<ContractEvent> =
            done.encoded_contract_events.iter().filter_map(|bytes| decoded(bytes)).collect();
        let return_value: ScVal = decoded(value).expect("the host's own value");
        let told = InvokeHostFunctionSuccessPreImage {
            return_value: return_value.clone(),
            events: events.clone().try_into().expect("as many as fit in a transaction"),
        };
        let hash = Hash(sha256(&encoded(&told)));
        let result = OperationResultTr::InvokeHostFunction(R::Success(hash));
        Outcome { return_value: Some(return_value), events, spent, ..Outcome::success(result, changes) }
    }
}

fn failure(result: R, diagnostics: Vec<DiagnosticEvent>) -> Outcome {
    Outcome { diagnostics, ..Outcome::failure(OperationResultTr::InvokeHostFunction(result)) }
}

/// Core's error for a limit, in the form of the host's own errors.
fn core_error(message: &str, values: &[u64]) -> DiagnosticEvent {
    let error = match values {
        [] => ScError::Storage(ScErrorCode::ExceededLimit),
        _ => ScError::Budget(ScErrorCode::ExceededLimit),
    };
    let text = ScVal::String(ScString(message.try_into().expect("a short text")));
    let data: Vec<ScVal> = std::iter::once(text).chain(values.iter().map(|value| ScVal::U64(*value))).collect();
    let topics = vec![ScVal::Symbol(ScSymbol("error".try_into().expect("a symbol"))), ScVal::Error(error)];
    DiagnosticEvent {
        in_successful_contract_call: false,
        event: ContractEvent {
            ext: ExtensionPoint::V0,
            contract_id: None,
            type_: ContractEventType::Diagnostic,
            body: ContractEventBody::V0(ContractEventV0 {
                topics: topics.try_into().expect("two topics"),
                data: ScVal::Vec(Some(ScVec(data.try_into().expect("a few values")))),
            }),
        },
    }
}

/// The host's changes, for the state and for the transaction's meta.
pub fn changes_of(state: &State, told: &[HostChange], restored: &HashSet<&LedgerKey>, ledger: u32) -> Changes {
    let mut changes = Changes::default();
    for change in told {
        let key: LedgerKey = decoded(&change.encoded_key).expect("the host's own key");
        let before = state.get(&key);
        let life = change.ttl_change.as_ref();
        let is_longer = life.is_some_and(|life| life.new_live_until_ledger > life.old_live_until_ledger);
        let live_until = life.map(|life| life.new_live_until_ledger);
        let entry = match (&change.encoded_new_value, before) {
            (None, Some(before)) if !change.read_only => {
                changes.meta.push(LedgerEntryChange::State((*before.entry).clone()));
                changes.meta.push(LedgerEntryChange::Removed(key.clone()));
                changes.entries.push((Rc::new(key), None));
                continue;
            }
            (Some(bytes), _) if !change.read_only => {
                let mut entry: LedgerEntry = decoded(bytes).expect("the host's own entry");
                entry.last_modified_ledger_seq = ledger;
                let is_restored = restored.contains(&key);
                let shown = before.map(|before| (*before.entry).clone());
                changes.meta.extend(shift(shown, entry.clone(), is_restored));
                Rc::new(entry)
            }
            // Of an entry that is only read, nothing but its life can change.
            (_, Some(before)) if is_longer => before.entry.clone(),
            _ => continue,
        };
        if let Some(until) = live_until.filter(|_| is_longer) {
            let is_restored = restored.contains(&key);
            let old = before.and_then(|before| before.live_until).map(|old| life_entry(&key, old, ledger));
            changes.meta.extend(shift(old, life_entry(&key, until, ledger), is_restored));
        }
        changes.entries.push((Rc::new(key), Some(Stored { entry, live_until })));
    }
    changes
}

/// Writes a change of one entry in the form of the meta.
fn shift(before: Option<LedgerEntry>, after: LedgerEntry, is_restored: bool) -> Vec<LedgerEntryChange> {
    match before {
        None => vec![LedgerEntryChange::Created(after)],
        Some(before) if is_restored && matches!(after.data, LedgerEntryData::Ttl(_)) => {
            drop(before);
            vec![LedgerEntryChange::Restored(after)]
        }
        Some(before) if is_restored => {
            vec![LedgerEntryChange::Restored(before), LedgerEntryChange::Updated(after)]
        }
        Some(before) => vec![LedgerEntryChange::State(before), LedgerEntryChange::Updated(after)],
    }
}
