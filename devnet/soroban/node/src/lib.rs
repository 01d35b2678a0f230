//! A Stellar network of one node, as a WebAssembly module: a ledger around the Soroban host of one protocol.
//!
//! Text goes in and out through linear memory: `allocate` a place, write JSON there, `create` the network
//! with its options or `call` a method of it, and read the answer at `pointer << 32 | length`. It reads no
//! clock and no randomness: ledgers close on request, and seeds follow from the seed that `create` is given.
mod apply;
mod classic;
mod codec;
mod control;
mod costs;
mod envelope;
mod fees;
mod footprint;
mod history;
mod host;
mod invoke;
mod ledger;
mod queue;
mod rpc;
mod settings;
mod simulate;
mod state;
mod stored;
mod validity;

use ledger::{Ledger, Options};
use serde_json::{Value, json};
use std::cell::RefCell;

/// A JSON-RPC error: its code and message.
pub struct Refused(pub i64, pub String);
pub type Answer = Result<Value, Refused>;

pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;

pub fn bad(message: impl Into<String>) -> Refused {
    Refused(INVALID_PARAMS, message.into())
}

thread_local! {
    static LEDGER: RefCell<Option<Ledger>> = const { RefCell::new(None) };
}

#[unsafe(no_mangle)]
pub extern "C" fn allocate(length: usize) -> *mut u8 {
    Box::into_raw(vec![0u8; length].into_boxed_slice()).cast()
}

/// # Safety
/// `pointer` and `length` are of one `allocate`, or of one answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn release(pointer: *mut u8, length: usize) {
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(pointer, length)) });
}

/// # Safety
/// `pointer` and `length` are of one `allocate`; the place is released by this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn create(pointer: *mut u8, length: usize) -> u64 {
    let options = unsafe { take(pointer, length) };
    reply(Options::read(&options).map(|options| {
        let ledger = Ledger::new(options);
        let told = control::position(&ledger);
        LEDGER.set(Some(ledger));
        told
    }))
}

/// # Safety
/// As of `create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn call(pointer: *mut u8, length: usize) -> u64 {
    let question = unsafe { take(pointer, length) };
    let method = question["method"].as_str().unwrap_or("");
    let params = &question["params"];
    reply(LEDGER.with_borrow_mut(|ledger| match ledger {
        None => Err(Refused(INVALID_REQUEST, "no network was created".into())),
        Some(ledger) => match method.strip_prefix("control.") {
            Some(name) => control::call(ledger, name, params),
            None => rpc::call(ledger, method, params),
        },
    }))
}

unsafe fn take(pointer: *mut u8, length: usize) -> Value {
    let bytes = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(pointer, length)) };
    serde_json::from_slice(&bytes).unwrap_or(Value::Null)
}

fn reply(answer: Answer) -> u64 {
    let text = match answer {
        Ok(result) => json!({ "result": result }),
        Err(Refused(code, message)) => json!({ "error": { "code": code, "message": message } }),
    }
    .to_string();
    let bytes = text.into_bytes().into_boxed_slice();
    let length = bytes.len() as u64;
    (Box::into_raw(bytes).cast::<u8>() as u64) << 32 | length
}
