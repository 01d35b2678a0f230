//! Holds the tokens of an off-ramp session until its payout is known: then they go to the treasury, or back.
#![no_std]
#![allow(deprecated)] // Events with topics in plain sight are as the deployed contracts publish them.

use soroban_sdk::{
    contract, contracterror, contractimpl, contracttype, panic_with_error, symbol_short,
    token::TokenClient, Address, BytesN, Env, String,
};

#[contracttype]
#[derive(Clone)]
pub enum Role {
    Settler,
    Manager,
    Pauser,
    Upgrader,
}

#[contracttype]
#[derive(Clone, PartialEq)]
pub enum OffRampStatus {
    None,
    Pending,
    Settled,
    Refunded,
    Recorded,
}

#[contracttype]
#[derive(Clone)]
pub struct OffRamp {
    pub depositor: Address,
    pub token: Address,
    pub amount: i128,
    pub status: OffRampStatus,
    pub initiated_at: u64,
}

#[contracttype]
#[derive(Clone)]
pub enum Key {
    Treasury,
    Paused,
    RoleAddr(Role),
    OffRamp(BytesN<32>),
}

#[contracterror]
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum SettlementError {
    ZeroAmount = 1,
    ReferenceAlreadyUsed = 2,
    InvalidStatus = 3,
    Paused = 11,
}

#[contract]
pub struct Settlement;

#[contractimpl]
impl Settlement {
    pub fn __constructor(env: Env, admin: Address, treasury: Address) {
        let instance = env.storage().instance();
        instance.set(&Key::Treasury, &treasury);
        for role in [Role::Settler, Role::Manager, Role::Pauser, Role::Upgrader] {
            instance.set(&Key::RoleAddr(role), &admin);
        }
    }

    /// The deployed contract leaves it to the token's transfer to ask the caller.
    pub fn initiate_off_ramp(
        env: Env,
        caller: Address,
        reference_id: BytesN<32>,
        token: Address,
        amount: i128,
        provider_ref: String,
    ) {
        #[cfg(feature = "root-auth")]
        caller.require_auth();
        require_running(&env);
        if amount <= 0 {
            panic_with_error!(&env, SettlementError::ZeroAmount);
        }
        let key = Key::OffRamp(reference_id.clone());
        if env.storage().persistent().has(&key) {
            panic_with_error!(&env, SettlementError::ReferenceAlreadyUsed);
        }
        TokenClient::new(&env, &token).transfer(&caller, &env.current_contract_address(), &amount);
        let deposit = OffRamp {
            depositor: caller.clone(),
            token: token.clone(),
            amount,
            status: OffRampStatus::Pending,
            initiated_at: env.ledger().timestamp(),
        };
        env.storage().persistent().set(&key, &deposit);
        let told = (caller, token, amount, provider_ref);
        env.events().publish((symbol_short!("offinit"), reference_id), told);
    }

    pub fn confirm_off_ramp_settlement(env: Env, reference_id: BytesN<32>) {
        by_role(&env, Role::Settler);
        let treasury = Self::treasury(env.clone());
        let deposit = pending(&env, &reference_id);
        let amount = release(&env, &reference_id, deposit, &treasury, OffRampStatus::Settled);
        env.events().publish((symbol_short!("offsettl"), reference_id), (treasury, amount));
    }

    pub fn refund_off_ramp(env: Env, reference_id: BytesN<32>) {
        by_role(&env, Role::Manager);
        let deposit = pending(&env, &reference_id);
        let depositor = deposit.depositor.clone();
        let amount = release(&env, &reference_id, deposit, &depositor, OffRampStatus::Refunded);
        env.events().publish((symbol_short!("offrfnd"), reference_id), (depositor, amount));
    }

    pub fn get_off_ramp(env: Env, reference_id: BytesN<32>) -> Option<OffRamp> {
        env.storage().persistent().get(&Key::OffRamp(reference_id))
    }

    pub fn treasury(env: Env) -> Address {
        env.storage().instance().get(&Key::Treasury).unwrap()
    }

    pub fn is_paused(env: Env) -> bool {
        is_paused(&env)
    }

    pub fn pause(env: Env) {
        by_role(&env, Role::Pauser);
        env.storage().instance().set(&Key::Paused, &true);
    }

    pub fn unpause(env: Env) {
        by_role(&env, Role::Pauser);
        env.storage().instance().set(&Key::Paused, &false);
    }
}

fn by_role(env: &Env, role: Role) {
    let holder: Address = env.storage().instance().get(&Key::RoleAddr(role)).unwrap();
    holder.require_auth();
}

fn is_paused(env: &Env) -> bool {
    env.storage().instance().get(&Key::Paused).unwrap_or(false)
}

fn require_running(env: &Env) {
    if is_paused(env) {
        panic_with_error!(env, SettlementError::Paused);
    }
}

fn pending(env: &Env, reference_id: &BytesN<32>) -> OffRamp {
    require_running(env);
    let found: Option<OffRamp> = env.storage().persistent().get(&Key::OffRamp(reference_id.clone()));
    match found {
        Some(deposit) if deposit.status == OffRampStatus::Pending => deposit,
        _ => panic_with_error!(env, SettlementError::InvalidStatus),
    }
}

fn release(
    env: &Env,
    reference_id: &BytesN<32>,
    deposit: OffRamp,
    to: &Address,
    status: OffRampStatus,
) -> i128 {
    let amount = deposit.amount;
    TokenClient::new(env, &deposit.token).transfer(&env.current_contract_address(), to, &amount);
    let key = Key::OffRamp(reference_id.clone());
    env.storage().persistent().set(&key, &OffRamp { status, ..deposit });
    amount
}
