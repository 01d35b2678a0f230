//! A token of 18 decimals with SEP-41's reads and transfer: a carbon credit or a commodity receipt.
#![no_std]
#![allow(deprecated)] // Events with topics in plain sight are as the deployed contracts publish them.

#[cfg(feature = "carbon-credit")]
mod carbon_credit;
#[cfg(feature = "commodity-receipt")]
mod commodity_receipt;

#[cfg(feature = "carbon-credit")]
use carbon_credit::Metadata;
#[cfg(feature = "commodity-receipt")]
use commodity_receipt::Metadata;
use soroban_sdk::{
    contract, contracterror, contractimpl, contracttype, panic_with_error, symbol_short, Address,
    BytesN, Env, IntoVal, String, TryFromVal, Val,
};

const DECIMALS: u32 = 18;

#[contracttype]
#[derive(Clone)]
pub enum Role {
    Minter,
    Manager,
    Pauser,
    Upgrader,
}

#[contracttype]
#[derive(Clone)]
pub enum AssetStatus {
    Draft,
    Active,
    Suspended,
    Redeemed,
    Expired,
}

#[contracttype]
#[derive(Clone)]
pub enum Key {
    Name,
    Symbol,
    AssetId,
    CountryCode,
    Verifier,
    Status,
    Paused,
    TotalSupply,
    RoleAddr(Role),
    Metadata,
    Balance(Address),
    TotalRetired,
    RetirementCount,
    Retirement(u32),
}

/// A retirement has numbers 1 and 2 of its own.
#[contracterror]
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum TokenError {
    ZeroRetirementAmount = 1,
    InsufficientToRetire = 2,
    InsufficientBalance = 5,
    InvalidAmount = 8,
    Paused = 11,
}

#[contract]
pub struct Token;

#[contractimpl]
impl Token {
    #[allow(clippy::too_many_arguments)]
    pub fn __constructor(
        env: Env,
        name: String,
        symbol: String,
        asset_id: BytesN<32>,
        country_code: String,
        admin: Address,
        verifier: Option<Address>,
        metadata: Metadata,
    ) {
        put(&env, Key::Name, &name);
        put(&env, Key::Symbol, &symbol);
        put(&env, Key::AssetId, &asset_id);
        put(&env, Key::CountryCode, &country_code);
        put(&env, Key::Verifier, &verifier);
        put(&env, Key::Status, &AssetStatus::Draft);
        for role in [Role::Minter, Role::Manager, Role::Pauser, Role::Upgrader] {
            put(&env, Key::RoleAddr(role), &admin);
        }
        let last_updated = env.ledger().timestamp();
        let metadata = Metadata { last_updated, ..metadata };
        env.storage().persistent().set(&Key::Metadata, &metadata);
    }

    pub fn name(env: Env) -> String {
        get(&env, Key::Name).unwrap()
    }

    pub fn symbol(env: Env) -> String {
        get(&env, Key::Symbol).unwrap()
    }

    pub fn decimals(_env: Env) -> u32 {
        DECIMALS
    }

    pub fn asset_id(env: Env) -> BytesN<32> {
        get(&env, Key::AssetId).unwrap()
    }

    pub fn country_code(env: Env) -> String {
        get(&env, Key::CountryCode).unwrap()
    }

    pub fn verifier(env: Env) -> Option<Address> {
        get(&env, Key::Verifier).unwrap()
    }

    pub fn status(env: Env) -> AssetStatus {
        get(&env, Key::Status).unwrap()
    }

    pub fn get_metadata(env: Env) -> Metadata {
        env.storage().persistent().get(&Key::Metadata).unwrap()
    }

    pub fn total_supply(env: Env) -> i128 {
        get(&env, Key::TotalSupply).unwrap_or(0)
    }

    pub fn balance(env: Env, id: Address) -> i128 {
        balance(&env, &id)
    }

    pub fn mint(env: Env, to: Address, amount: i128) {
        by_role(&env, Role::Minter);
        require_running(&env);
        require_positive(&env, amount);
        add_supply(&env, amount);
        set_balance(&env, &to, balance(&env, &to) + amount);
        env.events().publish((symbol_short!("mint"), to), amount);
    }

    pub fn transfer(env: Env, from: Address, to: Address, amount: i128) {
        from.require_auth();
        require_running(&env);
        require_positive(&env, amount);
        let held = balance(&env, &from);
        if held < amount {
            panic_with_error!(&env, TokenError::InsufficientBalance);
        }
        set_balance(&env, &from, held - amount);
        set_balance(&env, &to, balance(&env, &to) + amount);
        env.events().publish((symbol_short!("transfer"), from, to), amount);
    }

    pub fn is_paused(env: Env) -> bool {
        is_paused(&env)
    }

    pub fn pause(env: Env) {
        by_role(&env, Role::Pauser);
        put(&env, Key::Paused, &true);
    }

    pub fn unpause(env: Env) {
        by_role(&env, Role::Pauser);
        put(&env, Key::Paused, &false);
    }
}

pub fn get<T: TryFromVal<Env, Val>>(env: &Env, key: Key) -> Option<T> {
    env.storage().instance().get(&key)
}

pub fn put<T: IntoVal<Env, Val>>(env: &Env, key: Key, value: &T) {
    env.storage().instance().set(&key, value);
}

pub fn by_role(env: &Env, role: Role) {
    let holder: Address = get(env, Key::RoleAddr(role)).unwrap();
    holder.require_auth();
}

pub fn is_paused(env: &Env) -> bool {
    get(env, Key::Paused).unwrap_or(false)
}

pub fn require_running(env: &Env) {
    if is_paused(env) {
        panic_with_error!(env, TokenError::Paused);
    }
}

pub fn balance(env: &Env, id: &Address) -> i128 {
    env.storage().persistent().get(&Key::Balance(id.clone())).unwrap_or(0)
}

pub fn set_balance(env: &Env, id: &Address, amount: i128) {
    env.storage().persistent().set(&Key::Balance(id.clone()), &amount);
}

pub fn add_supply(env: &Env, amount: i128) {
    let supply: i128 = get(env, Key::TotalSupply).unwrap_or(0);
    put(env, Key::TotalSupply, &(supply + amount));
}

fn require_positive(env: &Env, amount: i128) {
    if amount <= 0 {
        panic_with_error!(env, TokenError::InvalidAmount);
    }
}
