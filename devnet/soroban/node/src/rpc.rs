//! The methods of stellar-rpc.
mod events;
mod transactions;

use crate::codec::{read, sha256, text_of};
use crate::host::PROTOCOL;
use crate::host::env::ledger_info::get_key_durability;
use crate::host::xdr::*;
use crate::ledger::{Ledger, ROOT_BALANCE, View};
use crate::queue::Submission;
use crate::simulate::simulate;
use crate::state::BASE_RESERVE;
use crate::validity::BASE_FEE;
use crate::{Answer, METHOD_NOT_FOUND, Refused, bad};
use serde_json::{Value, json};

/// The largest number of keys in a request, as in stellar-rpc.
const MAX_KEYS: usize = 200;
/// Fee statistics are about so many ledgers.
const CONTRACT_FEE_LEDGERS: u32 = 50;
const CLASSIC_FEE_LEDGERS: u32 = 10;

pub fn call(ledger: &mut Ledger, method: &str, params: &Value) -> Answer {
    match method {
        "getHealth" => Ok(health(ledger)),
        "getNetwork" => Ok(json!({
            "passphrase": ledger.options.passphrase, "protocolVersion": PROTOCOL,
            "friendbotUrl": params["friendbotUrl"],
        })),
        "getVersionInfo" => Ok(json!({
            "version": concat!("soroban-node-", env!("CARGO_PKG_VERSION")), "commitHash": "",
            "buildTimestamp": "", "captiveCoreVersion": "", "protocolVersion": PROTOCOL,
        })),
        "getLatestLedger" => Ok(latest_ledger(&ledger.view())),
        "getFeeStats" => Ok(fee_stats(ledger)),
        "getLedgerEntries" => ledger_entries(&ledger.view(), params),
        "simulateTransaction" => Ok(simulate(ledger, params)),
        "sendTransaction" => send(ledger, params),
        "getTransaction" => transactions::one(ledger, params),
        "getTransactions" => transactions::page(ledger, params),
        "getEvents" => events::page(ledger, params),
        _ => Err(Refused(METHOD_NOT_FOUND, "method not found".into())),
    }
}

fn health(ledger: &Ledger) -> Value {
    let view = ledger.view();
    let oldest = ledger.oldest(view.sequence);
    json!({
        "status": "healthy",
        "latestLedger": view.sequence, "latestLedgerCloseTime": view.closed_at,
        "oldestLedger": oldest, "oldestLedgerCloseTime": ledger.history.time_of(oldest),
        "ledgerRetentionWindow": ledger.options.retention_ledgers,
    })
}

fn latest_ledger(view: &View) -> Value {
    let header = header_of(view);
    let meta = LedgerCloseMeta::V1(LedgerCloseMetaV1 {
        ext: LedgerCloseMetaExt::V0,
        ledger_header: LedgerHeaderHistoryEntry {
            hash: hash_of_ledger(view.sequence),
            header: header.clone(),
            ext: LedgerHeaderHistoryEntryExt::V0,
        },
        tx_set: GeneralizedTransactionSet::V1(TransactionSetV1 {
            previous_ledger_hash: header.previous_ledger_hash.clone(),
            phases: VecM::default(),
        }),
        tx_processing: VecM::default(),
        upgrades_processing: VecM::default(),
        scp_info: VecM::default(),
        total_byte_size_of_live_soroban_state: 0,
        evicted_keys: VecM::default(),
        unused: VecM::default(),
    });
    json!({
        "id": hex::encode(hash_of_ledger(view.sequence).0), "protocolVersion": PROTOCOL,
        "sequence": view.sequence, "closeTime": view.closed_at.to_string(),
        "headerXdr": text_of(&header), "metadataXdr": text_of(&meta),
    })
}

/// The network keeps no buckets: hashes only distinguish ledgers.
fn header_of(view: &View) -> LedgerHeader {
    let none = Hash([0; 32]);
    LedgerHeader {
        ledger_version: PROTOCOL,
        previous_ledger_hash: hash_of_ledger(view.sequence.saturating_sub(1)),
        scp_value: StellarValue {
            tx_set_hash: none.clone(),
            close_time: TimePoint(view.closed_at),
            upgrades: VecM::default(),
            ext: StellarValueExt::Basic,
        },
        tx_set_result_hash: none.clone(),
        bucket_list_hash: none.clone(),
        ledger_seq: view.sequence,
        total_coins: ROOT_BALANCE,
        fee_pool: 0,
        inflation_seq: 0,
        id_pool: 0,
        base_fee: BASE_FEE as u32,
        base_reserve: BASE_RESERVE as u32,
        max_tx_set_size: 100,
        skip_list: [none.clone(), none.clone(), none.clone(), none],
        ext: LedgerHeaderExt::V0,
    }
}

fn hash_of_ledger(sequence: u32) -> Hash {
    Hash(sha256(&sequence.to_be_bytes()))
}

fn fee_stats(ledger: &Ledger) -> Value {
    let latest = ledger.view().sequence;
    let of = |is_soroban: bool, ledgers: u32| {
        let landed = ledger.history.landed.values().rev();
        let recent = landed.skip_while(|one| one.place.ledger > latest);
        let mut fees: Vec<i64> = recent
            .take_while(|one| one.place.ledger + ledgers > latest)
            .filter(|one| one.is_soroban == is_soroban)
            .map(|one| one.inclusion_fee)
            .collect();
        fees.sort_unstable();
        let at = |percent: usize| {
            let place = (fees.len() * percent).div_ceil(100).max(1) - 1;
            fees.get(place).copied().unwrap_or(0).to_string()
        };
        let mut told = json!({
            "max": at(100), "min": at(0), "mode": at(50),
            "transactionCount": fees.len().to_string(), "ledgerCount": ledgers,
        });
        for percent in [10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99] {
            told[format!("p{percent}")] = json!(at(percent));
        }
        told
    };
    json!({
        "sorobanInclusionFee": of(true, CONTRACT_FEE_LEDGERS),
        "inclusionFee": of(false, CLASSIC_FEE_LEDGERS),
        "latestLedger": latest,
    })
}

fn ledger_entries(view: &View, params: &Value) -> Answer {
    let keys = list(&params["keys"]);
    if keys.len() > MAX_KEYS {
        return Err(bad(format!("key count ({}) exceeds maximum supported ({MAX_KEYS})", keys.len())));
    }
    let mut entries = vec![];
    for (place, text) in keys.iter().enumerate() {
        let key: LedgerKey =
            read(text).ok_or_else(|| bad(format!("cannot unmarshal key value {text} at index {place}")))?;
        if matches!(key, LedgerKey::Ttl(_)) {
            return Err(bad("ledger ttl entries cannot be queried directly"));
        }
        let Some(stored) = view.state.get(&key) else { continue };
        let is_over = stored.live_until.is_some_and(|until| until < view.sequence);
        if is_over && get_key_durability(&key) == Some(ContractDataDurability::Temporary) {
            continue;
        }
        let mut told = json!({
            "key": text,
            "xdr": text_of(&stored.entry.data),
            "extXdr": text_of(&stored.entry.ext),
            "lastModifiedLedgerSeq": stored.entry.last_modified_ledger_seq,
        });
        if let Some(until) = stored.live_until {
            told["liveUntilLedgerSeq"] = json!(until);
        }
        entries.push(told);
    }
    Ok(json!({ "entries": entries, "latestLedger": view.sequence }))
}

fn send(ledger: &mut Ledger, params: &Value) -> Answer {
    let opened = ledger.open(&params["transaction"]).ok_or_else(|| bad("invalid_xdr"))?;
    let view = ledger.view();
    let mut answer = json!({
        "hash": hex::encode(opened.hash),
        "latestLedger": view.sequence, "latestLedgerCloseTime": view.closed_at.to_string(),
    });
    let status = match ledger.submit(opened) {
        Submission::Pending => "PENDING",
        Submission::Duplicate => "DUPLICATE",
        Submission::TryAgainLater => "TRY_AGAIN_LATER",
        Submission::Refused(result) => {
            answer["errorResultXdr"] = json!(text_of(&result));
            "ERROR"
        }
    };
    answer["status"] = json!(status);
    Ok(answer)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A position in the order of all operations of the network.
fn toid(ledger: u32, order: u32, operation: u32) -> u64 {
    u64::from(ledger) << 32 | u64::from(order) << 12 | u64::from(operation)
}

/// The position after everything that can be in a ledger.
fn end_of(ledger: u32) -> u64 {
    toid(ledger, 0xf_ffff, 0xfff)
}
