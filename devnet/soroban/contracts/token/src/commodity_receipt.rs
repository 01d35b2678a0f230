//! What a commodity receipt has beside its being a token: a date of expiry.
use crate::{by_role, put, AssetStatus, Key, Role, Token, TokenArgs, TokenClient};
use soroban_sdk::{contractimpl, contracttype, symbol_short, BytesN, Env, String};

#[contracttype]
#[derive(Clone)]
pub struct Metadata {
    pub commodity_type: String,
    pub quantity_kg: i128,
    pub grade_classification: String,
    pub warehouse_id: String,
    pub warehouse_location: String,
    pub deposit_date: u64,
    pub expiry_date: u64,
    pub inspection_report_hash: BytesN<32>,
    pub valuation_usd: i128,
    pub harvest_season: String,
    pub last_updated: u64,
}

#[contractimpl]
impl Token {
    pub fn is_expired(env: Env) -> bool {
        let metadata: Metadata = env.storage().persistent().get(&Key::Metadata).unwrap();
        env.ledger().timestamp() > metadata.expiry_date
    }

    /// The deployed contract does not look at the date, so this one does not either.
    pub fn mark_expired(env: Env) {
        by_role(&env, Role::Manager);
        put(&env, Key::Status, &AssetStatus::Expired);
        env.events().publish((symbol_short!("status"),), AssetStatus::Expired);
    }
}
