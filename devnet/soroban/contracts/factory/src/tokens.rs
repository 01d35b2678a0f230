//! Deploys of the two token templates.
use crate::{deploy, Factory, FactoryArgs, FactoryClient};
use soroban_sdk::{
    contractimpl, contracttype, symbol_short, Address, BytesN, Env, IntoVal, String, Symbol, Val, Vec,
};

#[contracttype]
#[derive(Clone)]
pub enum Template {
    CommodityReceipt,
    CarbonCredit,
}

#[contracttype]
#[derive(Clone)]
pub struct CarbonCreditMetadata {
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
pub struct CommodityMetadata {
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
impl Factory {
    #[allow(clippy::too_many_arguments)]
    pub fn deploy_carbon_credit_token(
        env: Env,
        deployer: Address,
        payment_token: Address,
        salt: BytesN<32>,
        name: String,
        symbol: String,
        asset_id: BytesN<32>,
        country_code: String,
        admin: Address,
        verifier: Option<Address>,
        metadata: CarbonCreditMetadata,
    ) -> Address {
        let common = (name, symbol, asset_id.clone(), country_code.clone(), admin, verifier, metadata);
        let kind = Symbol::new(&env, "CarbonCredit");
        let args: Vec<Val> = common.into_val(&env);
        let made = deploy(&env, &deployer, &payment_token, salt, kind, args);
        tell(&env, Template::CarbonCredit, (made.clone(), deployer, asset_id, country_code));
        made
    }

    #[allow(clippy::too_many_arguments)]
    pub fn deploy_commodity_receipt_token(
        env: Env,
        deployer: Address,
        payment_token: Address,
        salt: BytesN<32>,
        name: String,
        symbol: String,
        asset_id: BytesN<32>,
        country_code: String,
        admin: Address,
        verifier: Option<Address>,
        metadata: CommodityMetadata,
    ) -> Address {
        let common = (name, symbol, asset_id.clone(), country_code.clone(), admin, verifier, metadata);
        let kind = Symbol::new(&env, "CommodityReceipt");
        let args: Vec<Val> = common.into_val(&env);
        let made = deploy(&env, &deployer, &payment_token, salt, kind, args);
        tell(&env, Template::CommodityReceipt, (made.clone(), deployer, asset_id, country_code));
        made
    }
}

fn tell(env: &Env, template: Template, deployed: (Address, Address, BytesN<32>, String)) {
    env.events().publish((symbol_short!("deployed"), template), deployed);
}
