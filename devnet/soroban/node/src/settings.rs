//! The network's configuration, with the values of the public test network.
use crate::costs;
use crate::host::env::fees::{
    FeeConfiguration, RentFeeConfiguration, RentWriteFeeConfiguration, compute_rent_write_fee_per_1kb,
};
use crate::host::xdr::*;

/// The size of all contracts together, on which rent depends.
const STATE_BYTES: u64 = 1_500_000_000;
/// The number of samples of that size that the network keeps.
const STATE_SAMPLES: u32 = 30;

pub struct Settings {
    pub compute: ConfigSettingContractComputeV0,
    pub ledger_cost: ConfigSettingContractLedgerCostV0,
    pub footprint_cost: ConfigSettingContractLedgerCostExtV0,
    pub events: ConfigSettingContractEventsV0,
    pub bandwidth: ConfigSettingContractBandwidthV0,
    pub archival: StateArchivalSettings,
    pub instruction_costs: ContractCostParams,
    pub memory_costs: ContractCostParams,
    pub max_key_bytes: u32,
    fee_historical_1kb: i64,
    max_transactions: u32,
}

impl Settings {
    pub fn new(min_persistent_ttl: Option<u32>, max_transactions: u32) -> Self {
        Settings {
            compute: ConfigSettingContractComputeV0 {
                ledger_max_instructions: 580_000_000,
                tx_max_instructions: 400_000_000,
                fee_rate_per_instructions_increment: 7,
                tx_memory_limit: 41_943_040,
            },
            ledger_cost: ConfigSettingContractLedgerCostV0 {
                ledger_max_disk_read_entries: 1_000,
                ledger_max_disk_read_bytes: 400_000,
                ledger_max_write_ledger_entries: 1_000,
                ledger_max_write_bytes: 286_720,
                tx_max_disk_read_entries: 200,
                tx_max_disk_read_bytes: 200_000,
                tx_max_write_ledger_entries: 200,
                tx_max_write_bytes: 132_096,
                fee_disk_read_ledger_entry: 1_563,
                fee_write_ledger_entry: 2_500,
                fee_disk_read1_kb: 447,
                soroban_state_target_size_bytes: 4_000_000_000,
                rent_fee1_kb_soroban_state_size_low: -17_000,
                rent_fee1_kb_soroban_state_size_high: 10_000,
                soroban_state_rent_fee_growth_factor: 5_000,
            },
            footprint_cost: ConfigSettingContractLedgerCostExtV0 {
                tx_max_footprint_entries: 400,
                fee_write1_kb: 875,
            },
            events: ConfigSettingContractEventsV0 {
                tx_max_contract_events_size_bytes: 16_384,
                fee_contract_events1_kb: 5_000,
            },
            bandwidth: ConfigSettingContractBandwidthV0 {
                ledger_max_txs_size_bytes: 266_240,
                tx_max_size_bytes: 132_096,
                fee_tx_size1_kb: 406,
            },
            archival: StateArchivalSettings {
                max_entry_ttl: 3_110_400,
                min_temporary_ttl: 720,
                min_persistent_ttl: min_persistent_ttl.unwrap_or(120_960),
                persistent_rent_rate_denominator: 1_215,
                temp_rent_rate_denominator: 2_430,
                max_entries_to_archive: 1_000,
                live_soroban_state_size_window_sample_size: STATE_SAMPLES,
                live_soroban_state_size_window_sample_period: 64,
                eviction_scan_size: 500_000,
                starting_eviction_scan_level: 7,
            },
            instruction_costs: cost_params(costs::INSTRUCTIONS),
            memory_costs: cost_params(costs::MEMORY_BYTES),
            max_key_bytes: 250,
            fee_historical_1kb: 4_059,
            max_transactions,
        }
    }

    pub fn entries(&self) -> Vec<ConfigSettingEntry> {
        let samples = vec![STATE_BYTES; STATE_SAMPLES as usize];
        vec![
            ConfigSettingEntry::ContractMaxSizeBytes(131_072),
            ConfigSettingEntry::ContractComputeV0(self.compute.clone()),
            ConfigSettingEntry::ContractLedgerCostV0(self.ledger_cost.clone()),
            ConfigSettingEntry::ContractLedgerCostExtV0(self.footprint_cost.clone()),
            ConfigSettingEntry::ContractHistoricalDataV0(ConfigSettingContractHistoricalDataV0 {
                fee_historical1_kb: self.fee_historical_1kb,
            }),
            ConfigSettingEntry::ContractEventsV0(self.events.clone()),
            ConfigSettingEntry::ContractBandwidthV0(self.bandwidth.clone()),
            ConfigSettingEntry::ContractCostParamsCpuInstructions(self.instruction_costs.clone()),
            ConfigSettingEntry::ContractCostParamsMemoryBytes(self.memory_costs.clone()),
            ConfigSettingEntry::ContractDataKeySizeBytes(self.max_key_bytes),
            ConfigSettingEntry::ContractDataEntrySizeBytes(65_536),
            ConfigSettingEntry::StateArchival(self.archival.clone()),
            ConfigSettingEntry::ContractExecutionLanes(ConfigSettingContractExecutionLanesV0 {
                ledger_max_tx_count: self.max_transactions,
            }),
            ConfigSettingEntry::LiveSorobanStateSizeWindow(samples.try_into().expect("some samples")),
        ]
    }

    pub fn fees(&self) -> FeeConfiguration {
        FeeConfiguration {
            fee_per_instruction_increment: self.compute.fee_rate_per_instructions_increment,
            fee_per_disk_read_entry: self.ledger_cost.fee_disk_read_ledger_entry,
            fee_per_write_entry: self.ledger_cost.fee_write_ledger_entry,
            fee_per_disk_read_1kb: self.ledger_cost.fee_disk_read1_kb,
            fee_per_write_1kb: self.footprint_cost.fee_write1_kb,
            fee_per_historical_1kb: self.fee_historical_1kb,
            fee_per_contract_event_1kb: self.events.fee_contract_events1_kb,
            fee_per_transaction_size_1kb: self.bandwidth.fee_tx_size1_kb,
        }
    }

    pub fn rent(&self) -> RentFeeConfiguration {
        let cost = &self.ledger_cost;
        let by_state_size = RentWriteFeeConfiguration {
            state_target_size_bytes: cost.soroban_state_target_size_bytes,
            rent_fee_1kb_state_size_low: cost.rent_fee1_kb_soroban_state_size_low,
            rent_fee_1kb_state_size_high: cost.rent_fee1_kb_soroban_state_size_high,
            state_size_rent_fee_growth_factor: cost.soroban_state_rent_fee_growth_factor,
        };
        RentFeeConfiguration {
            fee_per_rent_1kb: compute_rent_write_fee_per_1kb(STATE_BYTES as i64, &by_state_size),
            fee_per_write_1kb: self.footprint_cost.fee_write1_kb,
            fee_per_write_entry: cost.fee_write_ledger_entry,
            persistent_rent_rate_denominator: self.archival.persistent_rent_rate_denominator,
            temporary_rent_rate_denominator: self.archival.temp_rent_rate_denominator,
        }
    }
}

/// The settings that this protocol knows.
fn cost_params(costs: &[(i64, i64)]) -> ContractCostParams {
    let known = ContractCostType::variants().len();
    let entries: Vec<_> = costs
        .iter()
        .take(known)
        .map(|&(const_term, linear_term)| ContractCostParamEntry { ext: ExtensionPoint::V0, const_term, linear_term })
        .collect();
    ContractCostParams(entries.try_into().expect("some hundred costs at most"))
}
