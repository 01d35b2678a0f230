//! `getTransaction` and `getTransactions`.
use super::{end_of, toid};
use crate::codec::{base64_of, hash_of, text_of};
use crate::history::{Landed, Place};
use crate::ledger::{Ledger, View};
use crate::{Answer, INVALID_REQUEST, Refused, bad};
use serde_json::{Value, json};

const DEFAULT_PAGE: u64 = 50;
const MAX_PAGE: u64 = 200;

pub fn one(ledger: &Ledger, params: &Value) -> Answer {
    let hash = hash_of(&params["hash"]).ok_or_else(|| bad("the hash is not 64 hexadecimal digits"))?;
    let view = ledger.view();
    let oldest = ledger.oldest(view.sequence);
    let found = ledger.history.find(&hash).filter(|one| (oldest..=view.sequence).contains(&one.place.ledger));
    let mut answer = match found {
        None => json!({ "status": "NOT_FOUND" }),
        Some(landed) => {
            let mut told = details(landed);
            told["createdAt"] = json!(ledger.history.time_of(landed.place.ledger).to_string());
            told
        }
    };
    answer["txHash"] = params["hash"].clone();
    range(&mut answer, ledger, &view, "CloseTime", |time| json!(time.to_string()));
    Ok(answer)
}

pub fn page(ledger: &Ledger, params: &Value) -> Answer {
    let limit = params["pagination"]["limit"].as_u64().unwrap_or(DEFAULT_PAGE);
    if limit == 0 || limit > MAX_PAGE {
        return Err(bad(format!("limit must not exceed {MAX_PAGE}")));
    }
    let view = ledger.view();
    let oldest = ledger.oldest(view.sequence);
    let after = match params["pagination"]["cursor"].as_str().filter(|cursor| !cursor.is_empty()) {
        Some(cursor) => cursor.parse::<u64>().map_err(|_| bad("invalid cursor"))?,
        None => {
            let start = params["startLedger"].as_u64().unwrap_or(0);
            if !(u64::from(oldest)..=u64::from(view.sequence)).contains(&start) {
                let kept = format!("the oldest ledger: {oldest} and the latest ledger: {}", view.sequence);
                let message = format!("start ledger ({start}) must be between {kept} for this rpc instance");
                return Err(Refused(INVALID_REQUEST, message));
            }
            toid(start as u32, 0, 0)
        }
    };
    let position = |place: Place| toid(place.ledger, place.order, 1);
    let first = Place { ledger: ((after >> 32) as u32).max(oldest), order: 0 };
    let last = Place { ledger: view.sequence, order: u32::MAX };
    let found: Vec<&Landed> = if first > last {
        vec![]
    } else {
        let kept = ledger.history.landed.range(first..=last).map(|(_, landed)| landed);
        kept.filter(|landed| position(landed.place) > after).take(limit as usize).collect()
    };
    let is_end = (found.len() as u64) < limit;
    let cursor = match found.last() {
        Some(landed) if !is_end => position(landed.place),
        _ => after.max(end_of(view.sequence)),
    };
    let transactions: Vec<Value> = found
        .iter()
        .map(|landed| {
            let mut told = details(landed);
            told["txHash"] = json!(hex::encode(landed.hash));
            told["createdAt"] = json!(ledger.history.time_of(landed.place.ledger));
            told
        })
        .collect();
    let mut answer = json!({ "transactions": transactions, "cursor": cursor.to_string() });
    range(&mut answer, ledger, &view, "CloseTimestamp", |time| json!(time));
    Ok(answer)
}

fn details(landed: &Landed) -> Value {
    let events: Vec<String> = landed.events.iter().map(text_of).collect();
    let mut told = json!({
        "status": if landed.is_success { "SUCCESS" } else { "FAILED" },
        "ledger": landed.place.ledger, "applicationOrder": landed.place.order, "feeBump": landed.is_bump,
        "envelopeXdr": base64_of(&landed.envelope),
        "resultXdr": base64_of(&landed.result),
        "resultMetaXdr": base64_of(&landed.meta),
        "events": { "contractEventsXdr": [events] },
    });
    let diagnostics: Vec<String> = landed.diagnostics().iter().map(text_of).collect();
    if !diagnostics.is_empty() {
        told["diagnosticEventsXdr"] = json!(diagnostics);
    }
    told
}

/// The ledgers that the node has; each answer about transactions and events says them.
pub fn range(answer: &mut Value, ledger: &Ledger, view: &View, suffix: &str, time: impl Fn(u64) -> Value) {
    let oldest = ledger.oldest(view.sequence);
    answer["latestLedger"] = json!(view.sequence);
    answer[format!("latestLedger{suffix}")] = time(view.closed_at);
    answer["oldestLedger"] = json!(oldest);
    answer[format!("oldestLedger{suffix}")] = time(ledger.history.time_of(oldest));
}
