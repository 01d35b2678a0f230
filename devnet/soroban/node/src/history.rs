//! The transactions that landed, for as long as the network keeps them.
use crate::codec::{decoded, encoded};
use crate::host::xdr::*;
use std::collections::{BTreeMap, HashMap};

pub struct Landed {
    pub hash: [u8; 32],
    pub inner_hash: [u8; 32],
    pub place: Place,
    pub is_bump: bool,
    pub is_soroban: bool,
    pub is_success: bool,
    /// The fee that was paid for inclusion, in stroops per operation.
    pub inclusion_fee: i64,
    pub envelope: Vec<u8>,
    pub result: Vec<u8>,
    pub meta: Vec<u8>,
    pub events: Vec<ContractEvent>,
}

/// A ledger, and the place in its order, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub ledger: u32,
    pub order: u32,
}

pub struct History {
    pub landed: BTreeMap<Place, Landed>,
    places: HashMap<[u8; 32], Place>,
    /// The closing times of ledgers, without the ledgers that a leap skipped.
    pub times: BTreeMap<u32, u64>,
    close_seconds: u64,
}

impl History {
    pub fn new(close_seconds: u64) -> Self {
        History { landed: BTreeMap::new(), places: HashMap::new(), times: BTreeMap::new(), close_seconds }
    }

    pub fn add(&mut self, landed: Landed) {
        self.places.insert(landed.hash, landed.place);
        self.places.insert(landed.inner_hash, landed.place);
        self.landed.insert(landed.place, landed);
    }

    pub fn find(&self, hash: &[u8; 32]) -> Option<&Landed> {
        self.landed.get(self.places.get(hash)?)
    }

    pub fn time_of(&self, ledger: u32) -> u64 {
        let next = self.times.range(ledger..).next();
        next.map_or(0, |(later, time)| time.saturating_sub(u64::from(later - ledger) * self.close_seconds))
    }

    pub fn forget_before(&mut self, ledger: u32) {
        let kept = self.landed.split_off(&Place { ledger, order: 0 });
        for landed in std::mem::replace(&mut self.landed, kept).into_values() {
            self.places.remove(&landed.hash);
            self.places.remove(&landed.inner_hash);
        }
        self.times = self.times.split_off(&ledger);
    }
}

impl Landed {
    /// The events that contracts published in a successful transaction.
    pub fn events_in(meta: &[u8]) -> Vec<ContractEvent> {
        match decoded(meta) {
            Some(TransactionMeta::V4(meta)) => {
                meta.operations.iter().flat_map(|operation| operation.events.to_vec()).collect()
            }
            _ => vec![],
        }
    }

    pub fn diagnostics(&self) -> Vec<DiagnosticEvent> {
        match decoded(&self.meta) {
            Some(TransactionMeta::V4(meta)) => meta.diagnostic_events.to_vec(),
            _ => vec![],
        }
    }
}

/// The changes of a transaction, in the format of current protocols.
pub fn meta_of(
    [before, after]: [Vec<LedgerEntryChange>; 2],
    operations: Vec<OperationMetaV2>,
    return_value: Option<ScVal>,
    diagnostics: Vec<DiagnosticEvent>,
) -> Vec<u8> {
    encoded(&TransactionMeta::V4(TransactionMetaV4 {
        ext: ExtensionPoint::V0,
        tx_changes_before: changes(before),
        operations: operations.try_into().expect("at most 100 operations"),
        tx_changes_after: changes(after),
        soroban_meta: return_value.map(|value| SorobanTransactionMetaV2 {
            ext: SorobanTransactionMetaExt::V0,
            return_value: Some(value),
        }),
        events: VecM::default(),
        diagnostic_events: diagnostics.try_into().expect("as many as fit in memory"),
    }))
}

pub fn changes(list: Vec<LedgerEntryChange>) -> LedgerEntryChanges {
    LedgerEntryChanges(list.try_into().expect("as many as fit in memory"))
}
