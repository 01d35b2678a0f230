//! The requests of the program that runs the network: close ledgers; change clock and entries; save and load.
use crate::codec::{account_at, required, text_of};
use crate::envelope::open;
use crate::host::env::e2e_invoke::invoke_host_function_in_recording_mode;
use crate::host::recording;
use crate::host::xdr::*;
use crate::invoke::changes_of;
use crate::ledger::Ledger;
use crate::queue::Submission;
use crate::state::{Stored, first_sequence, new_account};
use crate::validity::BASE_FEE;
use crate::{Answer, METHOD_NOT_FOUND, Refused, bad, stored};
use ed25519_dalek::Signer;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::rc::Rc;

/// Ten thousand lumens.
const FRIENDLY_BALANCE: i64 = 100_000_000_000;
/// Others keep alive the entries that this program adds, for some years.
const LONG_LIFE: u32 = 50_000_000;
/// Without a transaction there is no declared limit.
const FREE_INSTRUCTIONS: u64 = 10_000_000_000;

pub fn call(ledger: &mut Ledger, name: &str, params: &Value) -> Answer {
    let count = |name: &str| params[name].as_u64().ok_or_else(|| bad(format!("{name} is not a number")));
    match name {
        "closeLedger" => ledger.close(),
        "skipLedgers" => {
            let ledgers = u32::try_from(count("count")?).map_err(|_| bad("count is too large"))?;
            ledger.skip(ledgers);
        }
        "passTime" => ledger.extra_seconds += count("seconds")?,
        "setInclusionPrice" => ledger.inclusion_price = count("stroops")? as i64,
        "setLag" => ledger.lag = count("ledgers")? as usize,
        "waiting" => {
            let hashes: Vec<String> =
                ledger.waiting.iter().map(|waiting| hex::encode(waiting.opened.hash)).collect();
            return Ok(json!(hashes));
        }
        "dropWaiting" => {
            let before = ledger.waiting.len();
            let hash = params["hash"].as_str().unwrap_or("");
            ledger.waiting.retain(|waiting| hex::encode(waiting.opened.hash) != hash);
            return Ok(json!(ledger.waiting.len() < before));
        }
        "archive" => archive(ledger, &required(params, "key")?, params["evicted"] == json!(true))?,
        "remove" => ledger.edit(|ledger| Ok(ledger.state.remove(&required(params, "key")?)))?,
        "fund" => fund(ledger, params)?,
        "befriend" => return befriend(ledger, params),
        "invoke" => return invoke(ledger, &required(params, "function")?, params),
        "position" => (),
        "save" => return Ok(stored::save(ledger)),
        "load" => stored::load(ledger, params)?,
        _ => return Err(Refused(METHOD_NOT_FOUND, "control not found".into())),
    }
    Ok(position(ledger))
}

pub fn position(ledger: &Ledger) -> Value {
    json!({ "sequence": ledger.sequence, "closedAt": ledger.closed_at })
}

impl Ledger {
    /// Each change of this kind gets a ledger of its own, so that a comparison of two ledgers shows it.
    fn edit<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T, Refused>) -> Result<T, Refused> {
        let done = change(self)?;
        self.skip(1);
        Ok(done)
    }
}

fn archive(ledger: &mut Ledger, key: &LedgerKey, is_evicted: bool) -> Result<(), Refused> {
    let found = ledger.state.get(key).filter(|stored| stored.live_until.is_some());
    let entry = found.map(|stored| stored.entry.clone()).ok_or_else(|| bad("there is nothing to archive"))?;
    let live_until = Some(if is_evicted { 0 } else { ledger.sequence });
    ledger.edit(|ledger| Ok(ledger.state.put(Stored { entry, live_until })))
}

/// Creates an account, or adds to its balance.
fn fund(ledger: &mut Ledger, params: &Value) -> Result<(), Refused> {
    let id = account_at(&params["address"]).ok_or_else(|| bad("address is not of an account"))?;
    let text = params["stroops"].as_str().unwrap_or("");
    let stroops: i64 = text.parse().map_err(|_| bad("stroops is not a decimal number"))?;
    ledger.edit(|ledger| {
        let found = ledger.state.account(&id).cloned();
        let mut account = found.unwrap_or_else(|| new_account(&id, 0, first_sequence(ledger.sequence)));
        account.balance = account.balance.checked_add(stroops).ok_or_else(|| bad("stroops is too large"))?;
        Ok(ledger.put_account(account))
    })
}

/// The test network's friendbot: a transaction of the root account, in a ledger that closes at once.
fn befriend(ledger: &mut Ledger, params: &Value) -> Answer {
    let destination = account_at(&params["address"]).ok_or_else(|| bad("addr is not a valid address"))?;
    if ledger.state.account(&destination).is_some() {
        return Ok(json!({ "hash": null }));
    }
    let root = ledger.root_id();
    let sequence = ledger.state.account(&root).map_or(0, |account| account.seq_num.0);
    let create = CreateAccountOp { destination, starting_balance: FRIENDLY_BALANCE };
    let operation = Operation { source_account: None, body: OperationBody::CreateAccount(create) };
    let key = ledger.root.verifying_key().to_bytes();
    let transaction = Transaction {
        source_account: MuxedAccount::Ed25519(Uint256(key)),
        fee: BASE_FEE as u32,
        seq_num: SequenceNumber(sequence + 1),
        cond: Preconditions::None,
        memo: Memo::None,
        operations: vec![operation].try_into().expect("one operation"),
        ext: TransactionExt::V0,
    };
    let hash = transaction.hash(ledger.network).map_err(|error| bad(error.to_string()))?;
    let signature = Signature(ledger.root.sign(&hash).to_bytes().to_vec().try_into().expect("64 bytes"));
    let hint = SignatureHint([key[28], key[29], key[30], key[31]]);
    let signatures = vec![DecoratedSignature { hint, signature }].try_into().expect("one signature");
    let envelope = TransactionEnvelope::Tx(TransactionV1Envelope { tx: transaction, signatures });
    let opened = open(&crate::codec::encoded(&envelope), ledger.network).ok_or_else(|| bad("invalid_xdr"))?;
    match ledger.submit(opened) {
        Submission::Pending => {
            ledger.close();
            Ok(json!({ "hash": hex::encode(hash) }))
        }
        _ => Err(bad("the friendbot's transaction was refused")),
    }
}

/// Runs a host function without transaction, signature or fee, and gives its entries a long life. A network
/// is set up with it.
fn invoke(ledger: &mut Ledger, function: &HostFunction, params: &Value) -> Answer {
    let source = match &params["source"] {
        Value::Null => ledger.root_id(),
        address => account_at(address).ok_or_else(|| bad("source is not an account"))?,
    };
    let seed = ledger.next_seed();
    let done = invoke_host_function_in_recording_mode(
        &ledger.budget(FREE_INSTRUCTIONS, u64::from(u32::MAX)),
        false,
        function,
        &source,
        recording(false),
        ledger.info(ledger.sequence, ledger.closed_at),
        Rc::new(ledger.state.clone()),
        seed,
        &mut vec![],
    )
    .map_err(|error| bad(error.to_string()))?;
    let value = done.invoke_result.map_err(|error| bad(error.to_string()))?;
    ledger.edit(|ledger| {
        let at = ledger.sequence;
        let mut changes = changes_of(&ledger.state, &done.ledger_changes, &HashSet::new(), at);
        for (_, stored) in &mut changes.entries {
            if let Some(live_until) = stored.as_mut().and_then(|stored| stored.live_until.as_mut()) {
                *live_until = at + LONG_LIFE;
            }
        }
        Ok(ledger.state.commit(changes, &ledger.modules))
    })?;
    Ok(json!({ "value": text_of(&value) }))
}
