//! Deploys of settlement contracts.
use crate::{deploy, Factory, FactoryArgs, FactoryClient};
use soroban_sdk::{contractimpl, symbol_short, Address, BytesN, Env, IntoVal, Symbol};

#[contractimpl]
impl Factory {
    pub fn deploy_ramp_settlement(
        env: Env,
        deployer: Address,
        payment_token: Address,
        salt: BytesN<32>,
        admin: Address,
        treasury: Address,
    ) -> Address {
        let args = (admin.clone(), treasury.clone()).into_val(&env);
        let kind = Symbol::new(&env, "RampSettlement");
        let made = deploy(&env, &deployer, &payment_token, salt, kind, args);
        let deployed = (made.clone(), deployer, admin, treasury);
        env.events().publish((symbol_short!("deployed"),), deployed);
        made
    }
}
