//! Decides whether a ledger may take a transaction: by its form, fee, sequence number, time and signatures.
use crate::codec::encoded;
use crate::envelope::{FeeBump, Opened, is_soroban};
use crate::fees::resource_fees;
use crate::host::env::ledger_info::get_key_durability;
use crate::host::xdr::*;
use crate::settings::Settings;
use crate::state::{State, spendable};
use TransactionResultResult as R;
use std::collections::HashSet;

/// Stroops per operation.
pub const BASE_FEE: i64 = 100;

pub struct Rules<'a> {
    pub state: &'a State,
    pub settings: &'a Settings,
    /// The ledger's closing time.
    pub time: u64,
    /// A fee that was charged already is not required again.
    pub is_charged: bool,
}

/// The reason why a transaction is not valid: for a fee bump itself, or for the transaction inside.
pub struct Fault {
    pub result: R,
    pub is_of_bump: bool,
}

impl Rules<'_> {
    pub fn fault(&self, opened: &Opened) -> Option<Fault> {
        if let Some(result) = opened.bump.as_ref().and_then(|bump| self.fault_of_bump(opened, bump)) {
            return Some(Fault { result, is_of_bump: true });
        }
        let result = self
            .fault_of_form(opened)
            .or_else(|| self.fault_of_time(opened))
            .or_else(|| resources_fault(self.settings, opened))
            .or_else(|| self.fault_of_bid(opened))
            .or_else(|| self.fault_of_sequence(opened))
            .or_else(|| self.fault_of_signatures(opened))
            .or_else(|| self.fault_of_balance(opened))?;
        Some(Fault { result, is_of_bump: false })
    }

    fn fault_of_bump(&self, opened: &Opened, bump: &FeeBump) -> Option<R> {
        if let Some(fault) = self.fault_of_bid(opened) {
            return Some(fault);
        }
        if self.state.account(&bump.payer).is_none() {
            return Some(R::TxNoAccount);
        }
        let mut signatures = Signatures::of(&opened.hash, &bump.signatures);
        if !signatures.include(&bump.payer) {
            return Some(R::TxBadAuth);
        }
        if signatures.has_more() {
            return Some(R::TxBadAuthExtra);
        }
        self.fault_of_balance(opened)
    }

    fn fault_of_form(&self, opened: &Opened) -> Option<R> {
        let operations = &opened.transaction.operations;
        if operations.is_empty() {
            return Some(R::TxMissingOperation);
        }
        let is_contracts = operations.iter().any(is_soroban);
        let fits = match opened.soroban() {
            Some(_) => is_contracts && operations.len() == 1,
            None => !is_contracts,
        };
        (!fits).then_some(R::TxMalformed)
    }

    fn fault_of_time(&self, opened: &Opened) -> Option<R> {
        let (from, until) = opened.time_bounds()?;
        if from > self.time {
            return Some(R::TxTooEarly);
        }
        (until != 0 && until < self.time).then_some(R::TxTooLate)
    }

    fn fault_of_bid(&self, opened: &Opened) -> Option<R> {
        let least = opened.operation_count() * BASE_FEE;
        (!self.is_charged && opened.bid() < least).then_some(R::TxInsufficientFee)
    }

    fn fault_of_sequence(&self, opened: &Opened) -> Option<R> {
        let Some(account) = self.state.account(&opened.source) else { return Some(R::TxNoAccount) };
        (account.seq_num.0.checked_add(1) != Some(opened.sequence())).then_some(R::TxBadSeq)
    }

    fn fault_of_signatures(&self, opened: &Opened) -> Option<R> {
        let mut signatures = Signatures::of(&opened.inner_hash, &opened.signatures);
        if !signatures.include(&opened.source) {
            return Some(R::TxBadAuth);
        }
        for operation in opened.transaction.operations.iter() {
            let source = opened.source_of(operation);
            let fault = match self.state.account(&source) {
                None => OperationResult::OpNoAccount,
                Some(_) if !signatures.include(&source) => OperationResult::OpBadAuth,
                Some(_) => continue,
            };
            return Some(R::TxFailed(vec![fault].try_into().expect("one result")));
        }
        signatures.has_more().then_some(R::TxBadAuthExtra)
    }

    fn fault_of_balance(&self, opened: &Opened) -> Option<R> {
        let balance = self.state.account(opened.payer()).map_or(0, spendable);
        (!self.is_charged && balance < opened.offered_fee()).then_some(R::TxInsufficientBalance)
    }
}

fn resources_fault(settings: &Settings, opened: &Opened) -> Option<R> {
    let data = opened.soroban()?;
    let resources = &data.resources;
    let footprint = &resources.footprint;
    let entries = footprint.read_only.len() + footprint.read_write.len();
    let within_limits = i64::from(resources.instructions) <= settings.compute.tx_max_instructions
        && resources.disk_read_bytes <= settings.ledger_cost.tx_max_disk_read_bytes
        && resources.write_bytes <= settings.ledger_cost.tx_max_write_bytes
        && entries <= settings.footprint_cost.tx_max_footprint_entries as usize
        && footprint.read_write.len() <= settings.ledger_cost.tx_max_write_ledger_entries as usize
        && opened.size <= settings.bandwidth.tx_max_size_bytes;
    let (fixed, for_events) = resource_fees(settings, opened, 0);
    let is_paid = data.resource_fee >= fixed + for_events && data.resource_fee <= opened.offered_fee();
    let has_memo = !matches!(opened.transaction.memo, Memo::None);
    let is_sound = within_limits
        && is_paid
        && !has_memo
        && are_keys_sound(settings, footprint)
        && are_places_sound(footprint, opened.restored_places());
    (!is_sound).then_some(R::TxSorobanInvalid)
}

fn are_keys_sound(settings: &Settings, footprint: &LedgerFootprint) -> bool {
    let mut seen = HashSet::new();
    footprint.read_only.iter().chain(footprint.read_write.iter()).all(|key| {
        let is_of_a_kind = matches!(
            key,
            LedgerKey::Account(_) | LedgerKey::Trustline(_) | LedgerKey::ContractData(_) | LedgerKey::ContractCode(_)
        );
        let bytes = encoded(key);
        is_of_a_kind && bytes.len() as u32 <= settings.max_key_bytes && seen.insert(bytes)
    })
}

/// The keys must be in ascending order, each of a persistent entry.
fn are_places_sound(footprint: &LedgerFootprint, places: &[u32]) -> bool {
    places.is_sorted_by(|one, next| one < next)
        && places.iter().all(|place| {
            let key = footprint.read_write.get(*place as usize);
            key.and_then(get_key_durability) == Some(ContractDataDurability::Persistent)
        })
}

/// The signatures of an envelope, and which of them were needed.
struct Signatures<'a> {
    hash: &'a [u8; 32],
    all: &'a [DecoratedSignature],
    needed: Vec<bool>,
}

impl<'a> Signatures<'a> {
    fn of(hash: &'a [u8; 32], all: &'a [DecoratedSignature]) -> Self {
        Signatures { hash, all, needed: vec![false; all.len()] }
    }

    fn include(&mut self, id: &AccountId) -> bool {
        let PublicKey::PublicKeyTypeEd25519(Uint256(raw)) = &id.0;
        let Ok(key) = ed25519_dalek::VerifyingKey::from_bytes(raw) else { return false };
        let found = self.all.iter().position(|signature| {
            let bytes: Result<[u8; 64], _> = signature.signature.0.as_slice().try_into();
            signature.hint.0 == raw[28..]
                && bytes.is_ok_and(|bytes| {
                    key.verify_strict(self.hash, &ed25519_dalek::Signature::from_bytes(&bytes)).is_ok()
                })
        });
        if let Some(place) = found {
            self.needed[place] = true;
        }
        found.is_some()
    }

    fn has_more(&self) -> bool {
        self.needed.contains(&false)
    }
}
