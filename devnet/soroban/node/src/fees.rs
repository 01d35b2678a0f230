//! Computes the cost of a Soroban transaction's resources and storage.
use crate::envelope::Opened;
use crate::host::env::fees::{LedgerEntryRentChange, TransactionResources, compute_rent_fee, compute_transaction_resource_fee};
use crate::host::env::ledger_info::get_key_durability;
use crate::host::rent_size;
use crate::host::xdr::*;
use crate::settings::Settings;
use crate::state::Stored;

/// Returns the part that is charged in any case, and the part for these bytes of events.
pub fn resource_fees(settings: &Settings, opened: &Opened, event_bytes: u32) -> (i64, i64) {
    let Some(data) = opened.soroban() else { return (0, 0) };
    let resources = &data.resources;
    let footprint = &resources.footprint;
    let restored = match opened.transaction.operations.first().map(|operation| &operation.body) {
        Some(OperationBody::RestoreFootprint(_)) => footprint.read_write.len(),
        _ => opened.restored_places().len(),
    };
    let classic = footprint
        .read_only
        .iter()
        .chain(footprint.read_write.iter())
        .filter(|key| get_key_durability(key).is_none())
        .count();
    compute_transaction_resource_fee(
        &TransactionResources {
            instructions: resources.instructions,
            disk_read_entries: (classic + restored) as u32,
            write_entries: footprint.read_write.len() as u32,
            disk_read_bytes: resources.disk_read_bytes,
            write_bytes: resources.write_bytes,
            contract_events_size_bytes: event_bytes,
            transaction_size_bytes: opened.size,
        },
        &settings.fees(),
    )
}

/// The rent for a longer life of an entry, from `old` (None for an archived one) until `new`.
pub fn longer_life(key: &LedgerKey, stored: &Stored, old: Option<u32>, new: u32) -> LedgerEntryRentChange {
    let size = rent_size(stored);
    LedgerEntryRentChange {
        is_persistent: get_key_durability(key) == Some(ContractDataDurability::Persistent),
        is_code_entry: matches!(key, LedgerKey::ContractCode(_)),
        old_size_bytes: old.map_or(0, |_| size),
        new_size_bytes: size,
        old_live_until_ledger: old.unwrap_or(0),
        new_live_until_ledger: new,
    }
}

pub fn rent_fee(settings: &Settings, changes: &[LedgerEntryRentChange], ledger: u32) -> i64 {
    compute_rent_fee(changes, &settings.rent(), ledger)
}
