//! XDR, base64, hexadecimal, hashes and addresses.
use crate::host::xdr::*;
use crate::{Refused, bad};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A network takes no value that is deeper or longer.
const LIMITS: Limits = Limits { depth: 500, len: 32 << 20 };

pub fn encoded(value: &impl WriteXdr) -> Vec<u8> {
    value.to_xdr(Limits::none()).expect("XDR of a value in memory")
}

pub fn text_of(value: &impl WriteXdr) -> String {
    base64_of(&encoded(value))
}

pub fn base64_of(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub fn bytes_of(text: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(text.as_str()?).ok()
}

pub fn decoded<T: ReadXdr>(bytes: &[u8]) -> Option<T> {
    T::from_xdr(bytes, LIMITS).ok()
}

pub fn read<T: ReadXdr>(text: &Value) -> Option<T> {
    decoded(&bytes_of(text)?)
}

/// Reads a required parameter that is XDR.
pub fn required<T: ReadXdr>(params: &Value, name: &str) -> Result<T, Refused> {
    read(&params[name]).ok_or_else(|| bad(format!("{name} is not the base64 XDR that is expected")))
}

pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

pub fn hash_of(text: &Value) -> Option<[u8; 32]> {
    hex::decode(text.as_str()?).ok()?.try_into().ok()
}

pub fn account_at(address: &Value) -> Option<AccountId> {
    let key = stellar_strkey::ed25519::PublicKey::from_string(address.as_str()?).ok()?;
    Some(AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(key.0))))
}

pub fn contract_text(id: &ContractId) -> String {
    stellar_strkey::Contract(id.0.0).to_string()
}

pub fn owner_of(muxed: &MuxedAccount) -> AccountId {
    let key = match muxed {
        MuxedAccount::Ed25519(key) => key,
        MuxedAccount::MuxedEd25519(muxed) => &muxed.ed25519,
    };
    AccountId(PublicKey::PublicKeyTypeEd25519(key.clone()))
}

/// Formats seconds since 1970 as RFC 3339.
pub fn date_text(seconds: u64) -> String {
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let (mut year, mut day) = (1970, seconds / 86_400);
    let days_in = |year: u64| if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) { 366 } else { 365 };
    while day >= days_in(year) {
        day -= days_in(year);
        year += 1;
    }
    let february = days_in(year) - 337;
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", day + 1)
}
