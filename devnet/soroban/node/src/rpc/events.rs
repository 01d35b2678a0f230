//! `getEvents`: finds the events that contracts published, by contract and topics.
use super::transactions::range;
use super::{end_of, list, toid};
use crate::codec::{contract_text, date_text, text_of};
use crate::history::{Landed, Place};
use crate::host::xdr::*;
use crate::ledger::Ledger;
use crate::{Answer, INVALID_REQUEST, Refused, bad};
use serde_json::{Value, json};

const DEFAULT_PAGE: u64 = 100;
const MAX_PAGE: u64 = 10_000;
/// The largest number of ledgers that stellar-rpc searches for one request.
const MAX_LEDGERS: u64 = 10_000;

pub fn page(ledger: &Ledger, params: &Value) -> Answer {
    let limit = params["pagination"]["limit"].as_u64().unwrap_or(DEFAULT_PAGE);
    if limit == 0 || limit > MAX_PAGE {
        return Err(bad(format!("limit must not exceed {MAX_PAGE}")));
    }
    let view = ledger.view();
    let after = match params["pagination"]["cursor"].as_str().filter(|cursor| !cursor.is_empty()) {
        Some(cursor) => Some(position(cursor).ok_or_else(|| bad("invalid cursor"))?),
        None => None,
    };
    let start = after.map_or_else(|| params["startLedger"].as_u64().unwrap_or(0), |(at, _)| at >> 32);
    let oldest = ledger.oldest(view.sequence);
    if !(u64::from(oldest)..=u64::from(view.sequence)).contains(&start) {
        let kept = format!("{oldest} - {}", view.sequence);
        return Err(Refused(INVALID_REQUEST, format!("startLedger must be within the ledger range: {kept}")));
    }
    let end = (u64::from(view.sequence) + 1)
        .min(start + MAX_LEDGERS)
        .min(params["endLedger"].as_u64().unwrap_or(u64::MAX))
        .max(start) as u32;
    let filters: Vec<Filter> = list(&params["filters"]).iter().map(Filter::read).collect();
    let searched = Place { ledger: start as u32, order: 0 }..Place { ledger: end, order: 0 };
    let landed = ledger.history.landed.range(searched).map(|(_, landed)| landed);
    let found: Vec<(String, Value)> = landed
        .filter(|landed| landed.is_success)
        .flat_map(|landed| landed.events.iter().zip(0u64..).map(move |(event, index)| (landed, event, index)))
        .filter(|(landed, _, index)| after.is_none_or(|after| (at(landed), *index) > after))
        .filter(|(_, event, _)| filters.is_empty() || filters.iter().any(|filter| filter.takes(event)))
        .take(limit as usize)
        .map(|(landed, event, index)| {
            let id = cursor(at(landed), index);
            let told = details(ledger, landed, event, &id);
            (id, told)
        })
        .collect();
    let last = match found.last() {
        Some((id, _)) if found.len() as u64 == limit => id.clone(),
        _ => cursor(end_of(end.saturating_sub(1)), u32::MAX.into()),
    };
    let events: Vec<Value> = found.into_iter().map(|(_, told)| told).collect();
    let mut answer = json!({ "events": events, "cursor": last });
    range(&mut answer, ledger, &view, "CloseTime", |time| json!(time.to_string()));
    Ok(answer)
}

fn at(landed: &Landed) -> u64 {
    toid(landed.place.ledger, landed.place.order, 0)
}

fn cursor(at: u64, index: u64) -> String {
    format!("{at:019}-{index:010}")
}

fn position(cursor: &str) -> Option<(u64, u64)> {
    let (at, index) = cursor.split_once('-')?;
    Some((at.parse().ok()?, index.parse().ok()?))
}

fn details(ledger: &Ledger, landed: &Landed, event: &ContractEvent, id: &str) -> Value {
    let ContractEventBody::V0(body) = &event.body;
    let topics: Vec<String> = body.topics.iter().map(text_of).collect();
    json!({
        "type": "contract", "id": id,
        "ledger": landed.place.ledger,
        "ledgerClosedAt": date_text(ledger.history.time_of(landed.place.ledger)),
        "transactionIndex": landed.place.order, "operationIndex": 0,
        "txHash": hex::encode(landed.hash),
        "inSuccessfulContractCall": true,
        "contractId": event.contract_id.as_ref().map(contract_text),
        "topic": topics, "value": text_of(&body.data),
    })
}

struct Filter<'a> {
    contracts: Vec<&'a str>,
    topics: Vec<Vec<&'a str>>,
}

impl<'a> Filter<'a> {
    fn read(told: &'a Value) -> Self {
        let texts = |value: &'a Value| list(value).iter().filter_map(Value::as_str).collect();
        Filter {
            contracts: texts(&told["contractIds"]),
            topics: list(&told["topics"]).iter().map(texts).collect(),
        }
    }

    fn takes(&self, event: &ContractEvent) -> bool {
        let ContractEventBody::V0(body) = &event.body;
        let is_contract = self.contracts.is_empty()
            || event.contract_id.as_ref().is_some_and(|id| self.contracts.contains(&contract_text(id).as_str()));
        is_contract && (self.topics.is_empty() || self.topics.iter().any(|wanted| fits(wanted, &body.topics)))
    }
}

/// `*` matches one topic, `**` at the end any number of topics.
fn fits(wanted: &[&str], topics: &[ScVal]) -> bool {
    let (wanted, is_open) = match wanted {
        [first @ .., "**"] => (first, true),
        _ => (wanted, false),
    };
    let has_length = if is_open { topics.len() >= wanted.len() } else { topics.len() == wanted.len() };
    has_length && wanted.iter().zip(topics).all(|(one, topic)| *one == "*" || *one == text_of(topic))
}
