//! Deploys token or settlement contracts at addresses that follow from the caller's salt.
#![no_std]
#![allow(deprecated)] // Events with topics in plain sight are as the deployed contracts publish them.

#[cfg(feature = "settlements")]
mod settlements;
#[cfg(feature = "tokens")]
mod tokens;

use soroban_sdk::{
    contract, contracterror, contractimpl, contracttype, panic_with_error, token::TokenClient, vec,
    Address, BytesN, Env, Symbol, Val, Vec,
};

#[contracttype]
#[derive(Clone)]
pub enum Key {
    Owner,
    FeeRecipient,
    DeploymentFee,
    Code(Symbol),
    AllDeployed,
    DeployedBy(Address),
}

#[contracterror]
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum FactoryError {
    CodeNotRegistered = 1,
}

#[contract]
pub struct Factory;

#[contractimpl]
impl Factory {
    pub fn __constructor(env: Env, owner: Address, fee_recipient: Address) {
        let instance = env.storage().instance();
        instance.set(&Key::Owner, &owner);
        instance.set(&Key::FeeRecipient, &fee_recipient);
    }

    /// The code that contracts of this kind are made of from now on.
    pub fn register_code(env: Env, kind: Symbol, code_hash: BytesN<32>) {
        by_owner(&env);
        env.storage().instance().set(&Key::Code(kind), &code_hash);
    }

    pub fn deployment_fee(env: Env) -> i128 {
        env.storage().instance().get(&Key::DeploymentFee).unwrap_or(0)
    }

    pub fn set_deployment_fee(env: Env, fee: i128) {
        by_owner(&env);
        env.storage().instance().set(&Key::DeploymentFee, &fee);
    }

    pub fn all_deployed(env: Env) -> Vec<Address> {
        env.storage().instance().get(&Key::AllDeployed).unwrap_or(vec![&env])
    }

    pub fn deployed_by(env: Env, deployer: Address) -> Vec<Address> {
        env.storage().persistent().get(&Key::DeployedBy(deployer)).unwrap_or(vec![&env])
    }
}

fn by_owner(env: &Env) {
    let owner: Address = env.storage().instance().get(&Key::Owner).unwrap();
    owner.require_auth();
}

/// The two lists make every deploy dearer than the one before, as those of the deployed factories do.
pub fn deploy(
    env: &Env,
    deployer: &Address,
    payment_token: &Address,
    salt: BytesN<32>,
    kind: Symbol,
    constructor_args: Vec<Val>,
) -> Address {
    deployer.require_auth();
    let fee = Factory::deployment_fee(env.clone());
    if fee > 0 {
        let recipient: Address = env.storage().instance().get(&Key::FeeRecipient).unwrap();
        TokenClient::new(env, payment_token).transfer(deployer, &recipient, &fee);
    }
    let Some(code) = env.storage().instance().get::<_, BytesN<32>>(&Key::Code(kind)) else {
        panic_with_error!(env, FactoryError::CodeNotRegistered);
    };
    let made = env.deployer().with_current_contract(salt).deploy_v2(code, constructor_args);
    let mut all = Factory::all_deployed(env.clone());
    all.push_back(made.clone());
    env.storage().instance().set(&Key::AllDeployed, &all);
    let mut own = Factory::deployed_by(env.clone(), deployer.clone());
    own.push_back(made.clone());
    env.storage().persistent().set(&Key::DeployedBy(deployer.clone()), &own);
    made
}
