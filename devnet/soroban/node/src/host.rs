//! The Soroban host of the protocol for which this module is built, and all differences between protocols.
#[cfg(feature = "protocol-26")]
pub use {host_26 as env, simulation_26 as simulation};
#[cfg(feature = "protocol-28")]
pub use {host_28 as env, simulation_28 as simulation};

pub use env::xdr;

use crate::codec::encoded;
use crate::state::Stored;
use env::budget::{AsBudget, Budget};
use env::e2e_invoke::{self, InvokeHostFunctionResult, RecordingInvocationAuthMode};
use env::{CompilationContext, Error, ErrorHandler, HostError, LedgerInfo, ModuleCache, Val};
use xdr::{AccountId, ContractCostParams, DiagnosticEvent, HostFunction, LedgerKey, SorobanResources};

#[cfg(feature = "protocol-26")]
pub const PROTOCOL: u32 = 26;
#[cfg(feature = "protocol-28")]
pub const PROTOCOL: u32 = 28;

pub struct Invocation<'a> {
    pub budget: &'a Budget,
    pub diagnoses: bool,
    pub function: &'a HostFunction,
    pub resources: &'a SorobanResources,
    /// Indices into the read-write footprint.
    pub restored: &'a [u32],
    pub source: &'a AccountId,
    pub authorizations: Vec<Vec<u8>>,
    pub info: LedgerInfo,
    /// The footprint's entries that exist, each with the last ledger of its remaining life.
    pub entries: Vec<(&'a LedgerKey, Option<Stored>)>,
    pub seed: [u8; 32],
    pub modules: ModuleCache,
}

#[cfg(feature = "protocol-28")]
pub fn invoke(call: Invocation, events: &mut Vec<DiagnosticEvent>) -> Result<InvokeHostFunctionResult, HostError> {
    let entries: Vec<_> = call
        .entries
        .iter()
        .map(|(_, stored)| match stored {
            None => (None, None),
            Some(stored) => {
                let bytes = encoded(&*stored.entry);
                let life = stored.live_until.map(|live_until_ledger| e2e_invoke::TtlLedgerEntryMeta {
                    live_until_ledger,
                    entry_size_for_rent: rent_size(stored),
                });
                (Some(bytes), life)
            }
        })
        .collect();
    e2e_invoke::invoke_host_function(
        call.budget,
        call.diagnoses,
        encoded(call.function),
        encoded(call.resources),
        call.restored,
        encoded(call.source),
        call.authorizations.into_iter(),
        call.info,
        entries.into_iter(),
        call.seed.to_vec(),
        events,
        None,
        Some(call.modules),
    )
}

#[cfg(feature = "protocol-26")]
pub fn invoke(call: Invocation, events: &mut Vec<DiagnosticEvent>) -> Result<InvokeHostFunctionResult, HostError> {
    let (mut entries, mut lives) = (vec![], vec![]);
    for (key, stored) in &call.entries {
        let Some(stored) = stored else { continue };
        entries.push(encoded(&*stored.entry));
        lives.push(stored.live_until.map_or(vec![], |until| encoded(&crate::state::life_of(key, until))));
    }
    e2e_invoke::invoke_host_function(
        call.budget,
        call.diagnoses,
        encoded(call.function),
        encoded(call.resources),
        call.restored,
        encoded(call.source),
        call.authorizations.into_iter(),
        call.info,
        entries.into_iter(),
        lives.into_iter(),
        call.seed.to_vec(),
        events,
        None,
        Some(call.modules),
    )
}

/// Simulates a call and records the authorisations that it needs: at the root alone, or below it too.
#[cfg(feature = "protocol-28")]
pub fn recording(at_root_alone: bool) -> RecordingInvocationAuthMode {
    RecordingInvocationAuthMode::recording(at_root_alone, false)
}

#[cfg(feature = "protocol-26")]
pub fn recording(at_root_alone: bool) -> RecordingInvocationAuthMode {
    RecordingInvocationAuthMode::Recording(at_root_alone)
}

/// The size for which rent is paid; for code it includes its size in memory.
pub fn rent_size(stored: &Stored) -> u32 {
    let size = encoded(&*stored.entry).len() as u32;
    e2e_invoke::entry_size_for_rent(&unlimited(), &stored.entry, size).expect("a budget without limits")
}

/// Code is parsed once for all ledgers, as in stellar-core, because the metering assumes it.
pub fn new_modules() -> ModuleCache {
    ModuleCache::new(&Compiling(unlimited())).expect("an empty cache")
}

pub fn remember_code(modules: &ModuleCache, code: &[u8]) {
    // The host has just accepted this code, so it can be parsed; other code is not in the ledger.
    let _ = modules.parse_and_cache_module_simple(&Compiling(unlimited()), PROTOCOL, code);
}

fn unlimited() -> Budget {
    let free = || ContractCostParams(xdr::VecM::default());
    Budget::try_from_configs(u64::MAX, u64::MAX, free(), free()).expect("a budget without costs")
}

#[derive(Clone)]
struct Compiling(Budget);

impl CompilationContext for Compiling {}

impl AsBudget for Compiling {
    fn as_budget(&self) -> &Budget {
        &self.0
    }
}

impl ErrorHandler for Compiling {
    fn map_err<T, E>(&self, result: Result<T, E>) -> Result<T, HostError>
    where
        Error: From<E>,
        E: core::fmt::Debug,
    {
        result.map_err(HostError::from)
    }

    fn error(&self, error: Error, _message: &str, _values: &[Val]) -> HostError {
        HostError::from(error)
    }
}
