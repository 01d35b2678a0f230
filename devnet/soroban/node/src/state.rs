//! Ledger entries with their lives, and pending changes to them.
use crate::codec::{encoded, sha256};
use crate::host::env::HostError;
use crate::host::env::ModuleCache;
use crate::host::env::storage::{EntryWithLiveUntil, SnapshotSource};
use crate::host::remember_code;
use crate::host::xdr::*;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A lumen has ten million stroops; an account keeps a reserve for itself and for each thing that it owns.
pub const BASE_RESERVE: i64 = 5_000_000;

#[derive(Clone)]
pub struct Stored {
    pub entry: Rc<LedgerEntry>,
    /// The last ledger of the entry's life; None for an entry that lives for ever.
    pub live_until: Option<u32>,
}

#[derive(Clone, Default)]
pub struct State(Rc<BTreeMap<Rc<LedgerKey>, Stored>>);

/// The changes that an operation would make, and their form in a transaction's meta.
#[derive(Default)]
pub struct Changes {
    pub entries: Vec<(Rc<LedgerKey>, Option<Stored>)>,
    pub meta: Vec<LedgerEntryChange>,
}

impl State {
    pub fn get(&self, key: &LedgerKey) -> Option<&Stored> {
        self.0.get(key)
    }

    pub fn all(&self) -> impl Iterator<Item = &Stored> {
        self.0.values()
    }

    pub fn put(&mut self, stored: Stored) {
        let key = Rc::new(stored.entry.to_key());
        Rc::make_mut(&mut self.0).insert(key, stored);
    }

    pub fn remove(&mut self, key: &LedgerKey) {
        Rc::make_mut(&mut self.0).remove(key);
    }

    pub fn account(&self, id: &AccountId) -> Option<&AccountEntry> {
        match &self.get(&account_key(id))?.entry.data {
            LedgerEntryData::Account(account) => Some(account),
            _ => None,
        }
    }

    pub fn put_account(&mut self, account: AccountEntry, ledger: u32) {
        self.put(Stored { entry: Rc::new(account_entry(account, ledger)), live_until: None });
    }

    /// The form in meta of an account before and after a change.
    pub fn change_account(
        &mut self,
        id: &AccountId,
        ledger: u32,
        change: impl FnOnce(&mut AccountEntry),
    ) -> Vec<LedgerEntryChange> {
        let Some(before) = self.get(&account_key(id)).map(|stored| (*stored.entry).clone()) else {
            return vec![];
        };
        let LedgerEntryData::Account(mut account) = before.data.clone() else { return vec![] };
        change(&mut account);
        self.put_account(account.clone(), ledger);
        vec![LedgerEntryChange::State(before), LedgerEntryChange::Updated(account_entry(account, ledger))]
    }

    pub fn commit(&mut self, changes: Changes, modules: &ModuleCache) {
        let entries = Rc::make_mut(&mut self.0);
        for (key, stored) in changes.entries {
            let Some(stored) = stored else {
                entries.remove(&key);
                continue;
            };
            if let LedgerEntryData::ContractCode(code) = &stored.entry.data {
                if !entries.contains_key(&key) {
                    remember_code(modules, &code.code);
                }
            }
            entries.insert(key, stored);
        }
    }
}

impl SnapshotSource for State {
    fn get(&self, key: &Rc<LedgerKey>) -> Result<Option<EntryWithLiveUntil>, HostError> {
        Ok(self.0.get(key).map(|stored| (stored.entry.clone(), stored.live_until)))
    }
}

pub fn account_key(id: &AccountId) -> LedgerKey {
    LedgerKey::Account(LedgerKeyAccount { account_id: id.clone() })
}

pub fn entry(data: LedgerEntryData, ledger: u32) -> LedgerEntry {
    LedgerEntry { last_modified_ledger_seq: ledger, data, ext: LedgerEntryExt::V0 }
}

pub fn account_entry(account: AccountEntry, ledger: u32) -> LedgerEntry {
    entry(LedgerEntryData::Account(account), ledger)
}

pub fn new_account(id: &AccountId, balance: i64, sequence: i64) -> AccountEntry {
    AccountEntry {
        account_id: id.clone(),
        balance,
        seq_num: SequenceNumber(sequence),
        num_sub_entries: 0,
        inflation_dest: None,
        flags: 0,
        home_domain: String32::default(),
        thresholds: Thresholds([1, 0, 0, 0]),
        signers: VecM::default(),
        ext: AccountEntryExt::V0,
    }
}

/// The sequence numbers of a new account begin where no earlier account of the same key was.
pub fn first_sequence(ledger: u32) -> i64 {
    i64::from(ledger) << 32
}

pub fn spendable(account: &AccountEntry) -> i64 {
    account.balance - (2 + i64::from(account.num_sub_entries)) * BASE_RESERVE
}

pub fn life_of(key: &LedgerKey, live_until: u32) -> TtlEntry {
    TtlEntry { key_hash: Hash(sha256(&encoded(key))), live_until_ledger_seq: live_until }
}

pub fn life_entry(key: &LedgerKey, live_until: u32, ledger: u32) -> LedgerEntry {
    entry(LedgerEntryData::Ttl(life_of(key, live_until)), ledger)
}
