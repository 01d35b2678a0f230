//! Saves the whole network as text, to be kept in a file.
use crate::codec::{base64_of, bytes_of, decoded, hash_of, read, text_of};
use crate::envelope::{is_soroban, open};
use crate::history::{History, Landed, Place};
use crate::host::xdr::*;
use crate::host::{PROTOCOL, new_modules, remember_code};
use crate::ledger::Ledger;
use crate::queue::Waiting;
use crate::state::{State, Stored};
use crate::{Refused, bad};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::rc::Rc;

/// The format's version; this program can't read another one.
const FORMAT: u64 = 1;

pub fn save(ledger: &Ledger) -> Value {
    let entries: Vec<Value> =
        ledger.state.all().map(|stored| json!([text_of(&*stored.entry), stored.live_until])).collect();
    let waiting: Vec<Value> =
        ledger.waiting.iter().map(|one| json!([text_of(&one.opened.envelope), one.since])).collect();
    let banned: Vec<Value> =
        ledger.banned.iter().map(|(hash, until)| json!([hex::encode(hash), until])).collect();
    let landed: Vec<Value> = ledger.history.landed.values().map(landed_text).collect();
    json!({
        "format": FORMAT, "protocol": PROTOCOL, "passphrase": ledger.options.passphrase,
        "startsAtLedger": ledger.options.starts_at_ledger,
        "sequence": ledger.sequence, "closedAt": ledger.closed_at, "extraSeconds": ledger.extra_seconds,
        "inclusionPrice": ledger.inclusion_price,
        "seed": hex::encode(ledger.options.seed), "seedsUsed": ledger.seeds_used,
        "times": ledger.history.times, "entries": entries, "waiting": waiting, "banned": banned, "landed": landed,
    })
}

/// Replaces the network's whole state; its configuration stays.
pub fn load(ledger: &mut Ledger, told: &Value) -> Result<(), Refused> {
    if told["format"] != json!(FORMAT) {
        return Err(bad("the saved network is not in a format that is known here"));
    }
    if told["protocol"] != json!(PROTOCOL) || told["passphrase"] != json!(ledger.options.passphrase) {
        return Err(bad("the saved network has another passphrase or protocol"));
    }
    restore(ledger, told).ok_or_else(|| bad("the saved network is damaged"))
}

fn restore(ledger: &mut Ledger, told: &Value) -> Option<()> {
    let modules = new_modules();
    let mut state = State::default();
    for pair in told["entries"].as_array()? {
        let entry: LedgerEntry = read(&pair[0])?;
        if let LedgerEntryData::ContractCode(code) = &entry.data {
            remember_code(&modules, &code.code);
        }
        let live_until = pair[1].as_u64().map(|until| until as u32);
        state.put(Stored { entry: Rc::new(entry), live_until });
    }
    let mut history = History::new(ledger.options.close_seconds);
    for (sequence, time) in told["times"].as_object()? {
        history.times.insert(sequence.parse().ok()?, time.as_u64()?);
    }
    for one in told["landed"].as_array()? {
        history.add(landed_from(one, ledger.network)?);
    }
    let mut waiting = vec![];
    for pair in told["waiting"].as_array()? {
        let opened = open(&bytes_of(&pair[0])?, ledger.network)?;
        waiting.push(Waiting { opened, since: pair[1].as_u64()? as u32 });
    }
    let mut banned = HashMap::new();
    for pair in told["banned"].as_array()? {
        banned.insert(hash_of(&pair[0])?, pair[1].as_u64()? as u32);
    }
    ledger.options.starts_at_ledger = told["startsAtLedger"].as_u64()? as u32;
    ledger.options.seed = hash_of(&told["seed"])?;
    ledger.seeds_used = told["seedsUsed"].as_u64()?;
    ledger.inclusion_price = told["inclusionPrice"].as_i64()?;
    ledger.extra_seconds = told["extraSeconds"].as_u64()?;
    ledger.banned = banned;
    ledger.resume(state, history, waiting, modules, [told["sequence"].as_u64()?, told["closedAt"].as_u64()?]);
    Some(())
}

fn landed_text(landed: &Landed) -> Value {
    json!([
        landed.place.ledger,
        landed.place.order,
        landed.inclusion_fee,
        landed.is_success,
        base64_of(&landed.envelope),
        base64_of(&landed.result),
        base64_of(&landed.meta),
    ])
}

fn landed_from(told: &Value, network: [u8; 32]) -> Option<Landed> {
    let (envelope, meta) = (bytes_of(&told[4])?, bytes_of(&told[6])?);
    decoded::<TransactionMeta>(&meta)?;
    let opened = open(&envelope, network)?;
    Some(Landed {
        hash: opened.hash,
        inner_hash: opened.inner_hash,
        place: Place { ledger: told[0].as_u64()? as u32, order: told[1].as_u64()? as u32 },
        is_bump: opened.bump.is_some(),
        is_soroban: opened.transaction.operations.iter().any(is_soroban),
        is_success: told[3].as_bool()?,
        inclusion_fee: told[2].as_i64()?,
        result: bytes_of(&told[5])?,
        events: Landed::events_in(&meta),
        envelope,
        meta,
    })
}
