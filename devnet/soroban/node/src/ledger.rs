//! The ledger: its state and clock, and how it closes.
use crate::codec::{bytes_of, hash_of, sha256};
use crate::envelope::{self, Opened};
use crate::history::{History, Place};
use crate::host::env::{LedgerInfo, ModuleCache};
use crate::host::xdr::*;
use crate::host::{PROTOCOL, new_modules};
use crate::queue::Waiting;
use crate::settings::Settings;
use crate::state::{BASE_RESERVE, State, Stored, account_entry, entry, new_account};
use crate::validity::{BASE_FEE, Rules};
use crate::{Refused, bad};
use ed25519_dalek::SigningKey;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// All lumens of a new network, in stroops.
pub const ROOT_BALANCE: i64 = 1_000_000_000_000_000_000;
/// The largest number of ledgers by which a node can lag.
const MAX_LAG: usize = 32;

pub struct Options {
    pub passphrase: String,
    pub seed: [u8; 32],
    pub starts_at: u64,
    pub starts_at_ledger: u32,
    pub close_seconds: u64,
    pub retention_ledgers: u32,
    pub queue_ledgers: u32,
    pub max_transactions: u32,
    pub min_persistent_ttl: Option<u32>,
    pub diagnoses: bool,
}

impl Options {
    pub fn read(told: &Value) -> Result<Self, Refused> {
        let number = |name: &str, otherwise: u64| match &told[name] {
            Value::Null => Ok(otherwise),
            value => value.as_u64().ok_or_else(|| bad(format!("{name} is not a number"))),
        };
        let small = |name: &str, otherwise: u32| {
            number(name, otherwise.into())?.try_into().map_err(|_| bad(format!("{name} is too large")))
        };
        let text = |name: &str| told[name].as_str().ok_or_else(|| bad(format!("{name} is missing")));
        let ttl = small("minPersistentTtlLedgers", 0)?;
        Ok(Options {
            passphrase: text("passphrase")?.into(),
            seed: hash_of(&told["seed"]).ok_or_else(|| bad("seed is not 32 bytes in hexadecimal"))?,
            starts_at: number("startsAt", 0)?,
            starts_at_ledger: small("startsAtLedger", 2)?,
            close_seconds: number("closeSeconds", 5)?,
            retention_ledgers: small("retentionLedgers", 17_280)?.max(1),
            queue_ledgers: small("queueLedgers", 4)?,
            max_transactions: small("maxTransactionsPerLedger", 2_000)?,
            min_persistent_ttl: (ttl > 0).then_some(ttl),
            diagnoses: told["diagnostics"].as_bool().unwrap_or(true),
        })
    }
}

/// A ledger as it was when it closed; a node that lags answers from it.
#[derive(Clone)]
pub struct View {
    pub sequence: u32,
    pub closed_at: u64,
    pub state: State,
}

pub struct Ledger {
    pub options: Options,
    pub network: [u8; 32],
    /// The account that owns all lumens of a new network.
    pub root: SigningKey,
    pub settings: Settings,
    pub state: State,
    pub sequence: u32,
    pub closed_at: u64,
    pub extra_seconds: u64,
    pub inclusion_price: i64,
    pub history: History,
    pub waiting: Vec<Waiting>,
    /// The hashes of dropped transactions, each with the last ledger that refuses it.
    pub banned: HashMap<[u8; 32], u32>,
    pub modules: ModuleCache,
    pub lag: usize,
    pub seeds_used: u64,
    views: VecDeque<View>,
}

impl Ledger {
    pub fn new(options: Options) -> Self {
        let network = sha256(options.passphrase.as_bytes());
        let settings = Settings::new(options.min_persistent_ttl, options.max_transactions);
        let mut ledger = Ledger {
            network,
            root: SigningKey::from_bytes(&network),
            settings,
            state: State::default(),
            sequence: options.starts_at_ledger,
            closed_at: options.starts_at,
            extra_seconds: 0,
            inclusion_price: BASE_FEE,
            history: History::new(options.close_seconds),
            waiting: vec![],
            banned: HashMap::new(),
            modules: new_modules(),
            lag: 0,
            seeds_used: 0,
            views: VecDeque::new(),
            options,
        };
        ledger.put_settings();
        ledger.put(LedgerEntryData::Account(new_account(&ledger.root_id(), ROOT_BALANCE, 0)));
        ledger.note_closing();
        ledger
    }

    pub fn root_id(&self) -> AccountId {
        let key = self.root.verifying_key().to_bytes();
        AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(key)))
    }

    pub fn put(&mut self, data: LedgerEntryData) {
        self.state.put(Stored { entry: Rc::new(entry(data, self.sequence)), live_until: None });
    }

    /// Clients read from the state the settings that the host uses.
    fn put_settings(&mut self) {
        for setting in self.settings.entries() {
            self.put(LedgerEntryData::ConfigSetting(setting));
        }
    }

    pub fn put_account(&mut self, account: AccountEntry) {
        let entry = Rc::new(account_entry(account, self.sequence));
        self.state.put(Stored { entry, live_until: None });
    }

    /// Returns a seed that no other request gets.
    pub fn next_seed(&mut self) -> [u8; 32] {
        self.seeds_used += 1;
        sha256(&[&self.options.seed[..], &self.seeds_used.to_be_bytes()].concat())
    }

    pub fn open(&self, text: &Value) -> Option<Opened> {
        envelope::open(&bytes_of(text)?, self.network)
    }

    pub fn info(&self, sequence: u32, time: u64) -> LedgerInfo {
        let archival = &self.settings.archival;
        LedgerInfo {
            protocol_version: PROTOCOL,
            sequence_number: sequence,
            timestamp: time,
            network_id: self.network,
            base_reserve: BASE_RESERVE as u32,
            min_temp_entry_ttl: archival.min_temporary_ttl,
            min_persistent_entry_ttl: archival.min_persistent_ttl,
            max_entry_ttl: archival.max_entry_ttl,
        }
    }

    pub fn rules(&self, time: u64, is_charged: bool) -> Rules<'_> {
        Rules { state: &self.state, settings: &self.settings, time, is_charged }
    }

    /// The ledger from which the node answers: the last one, or an earlier one while the node lags.
    pub fn view(&self) -> View {
        let lagged = (self.lag > 0).then(|| self.views.iter().rev().nth(self.lag).or(self.views.front()));
        lagged.flatten().cloned().unwrap_or_else(|| View {
            sequence: self.sequence,
            closed_at: self.closed_at,
            state: self.state.clone(),
        })
    }

    pub fn oldest(&self, latest: u32) -> u32 {
        let kept = latest.saturating_sub(self.options.retention_ledgers - 1);
        kept.max(self.options.starts_at_ledger)
    }

    pub fn close(&mut self) {
        let sequence = self.sequence + 1;
        let time = self.closed_at + self.options.close_seconds + std::mem::take(&mut self.extra_seconds);
        let mut chosen = self.choose(sequence, time);
        // The order is one that senders can't choose.
        chosen.sort_by_key(|opened| sha256(&[&sequence.to_be_bytes()[..], &opened.hash].concat()));
        // All fees are charged before the first transaction is applied.
        let charged: Vec<i64> = chosen.iter().map(|opened| self.charge(opened, sequence)).collect();
        for (at, (opened, fee)) in chosen.into_iter().zip(charged).enumerate() {
            let place = Place { ledger: sequence, order: at as u32 + 1 };
            let landed = self.apply(&opened, place, time, fee);
            self.history.add(landed);
        }
        self.sequence = sequence;
        self.closed_at = time;
        self.note_closing();
    }

    fn charge(&mut self, opened: &Opened, sequence: u32) -> i64 {
        let fee = opened.resource_fee() + self.inclusion_fee(opened);
        self.state.change_account(opened.payer(), sequence, |account| account.balance -= fee);
        fee
    }

    /// Changes the state as if so many ledgers without transactions had closed.
    pub fn skip(&mut self, count: u32) {
        self.sequence += count;
        self.closed_at += u64::from(count) * self.options.close_seconds;
        self.note_closing();
    }

    /// Continues where a saved network ended.
    pub fn resume(
        &mut self,
        state: State,
        history: History,
        waiting: Vec<Waiting>,
        modules: ModuleCache,
        [sequence, closed_at]: [u64; 2],
    ) {
        self.state = state;
        self.history = history;
        self.waiting = waiting;
        self.modules = modules;
        self.sequence = sequence as u32;
        self.closed_at = closed_at;
        self.put_settings();
        self.views.clear();
        self.note_closing();
    }

    fn note_closing(&mut self) {
        self.history.times.insert(self.sequence, self.closed_at);
        let kept = self.sequence.saturating_sub(self.options.retention_ledgers - 1);
        self.history.forget_before(kept);
        self.views.push_back(View {
            sequence: self.sequence,
            closed_at: self.closed_at,
            state: self.state.clone(),
        });
        while self.views.len() > MAX_LAG {
            self.views.pop_front();
        }
    }
}
