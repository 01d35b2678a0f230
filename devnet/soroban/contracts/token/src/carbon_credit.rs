//! What a carbon credit has beside its being a token: retirements, and their records.
use crate::{
    add_supply, balance, get, put, require_running, set_balance, Key, Token, TokenArgs, TokenClient,
    TokenError,
};
use soroban_sdk::{contractimpl, contracttype, panic_with_error, symbol_short, Address, BytesN, Env, String};

#[contracttype]
#[derive(Clone)]
pub struct Metadata {
    pub credit_type: String,
    pub verification_body_ref: String,
    pub vintage_year: u32,
    pub quantity_co2e: i128,
    pub project_location: String,
    pub project_type: String,
    pub verification_doc_hash: BytesN<32>,
    pub last_updated: u64,
}

#[contracttype]
#[derive(Clone)]
pub struct RetirementRecord {
    pub retired_by: Address,
    pub amount: i128,
    pub timestamp: u64,
    pub beneficiary: String,
    pub retirement_note: String,
}

#[contractimpl]
impl Token {
    pub fn total_retired(env: Env) -> i128 {
        get(&env, Key::TotalRetired).unwrap_or(0)
    }

    pub fn total_retirements(env: Env) -> u32 {
        get(&env, Key::RetirementCount).unwrap_or(0)
    }

    pub fn get_retirement(env: Env, index: u32) -> RetirementRecord {
        env.storage().persistent().get(&Key::Retirement(index)).unwrap()
    }

    /// The amount is looked at before the holder is asked.
    pub fn retire(env: Env, retired_by: Address, amount: i128, beneficiary: String, note: String) {
        if amount <= 0 {
            panic_with_error!(&env, TokenError::ZeroRetirementAmount);
        }
        let held = balance(&env, &retired_by);
        if held < amount {
            panic_with_error!(&env, TokenError::InsufficientToRetire);
        }
        retired_by.require_auth();
        require_running(&env);
        set_balance(&env, &retired_by, held - amount);
        add_supply(&env, -amount);
        let total: i128 = get(&env, Key::TotalRetired).unwrap_or(0);
        put(&env, Key::TotalRetired, &(total + amount));
        let index: u32 = get(&env, Key::RetirementCount).unwrap_or(0);
        put(&env, Key::RetirementCount, &(index + 1));
        let timestamp = env.ledger().timestamp();
        let record = RetirementRecord {
            retired_by: retired_by.clone(),
            amount,
            timestamp,
            beneficiary: beneficiary.clone(),
            retirement_note: note,
        };
        env.storage().persistent().set(&Key::Retirement(index), &record);
        env.events().publish((symbol_short!("burn"), retired_by.clone()), amount);
        let told = (amount, beneficiary, index, timestamp);
        env.events().publish((symbol_short!("retired"), retired_by), told);
    }
}
