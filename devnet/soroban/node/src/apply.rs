//! Executes the transactions that a ledger has taken.
use crate::codec::encoded;
use crate::envelope::Opened;
use crate::fees::resource_fees;
use crate::history::{Landed, Place, changes, meta_of};
use crate::host::xdr::*;
use crate::ledger::Ledger;
use crate::queue::result_of;
use crate::state::Changes;

/// The ledger and the place in it in which an operation is executed.
#[derive(Clone, Copy)]
pub struct At {
    pub ledger: u32,
    pub time: u64,
}

/// The result of an operation. An operation that fails changes nothing.
pub struct Outcome {
    pub result: OperationResult,
    pub is_success: bool,
    pub changes: Changes,
    pub return_value: Option<ScVal>,
    pub events: Vec<ContractEvent>,
    pub diagnostics: Vec<DiagnosticEvent>,
    /// The part of the refundable resource fee that the operation spends.
    pub spent: i64,
}

impl Outcome {
    pub fn success(result: OperationResultTr, changes: Changes) -> Self {
        Outcome { is_success: true, changes, ..Self::failure(result) }
    }

    pub fn failure(result: OperationResultTr) -> Self {
        Outcome {
            result: OperationResult::OpInner(result),
            is_success: false,
            changes: Changes::default(),
            return_value: None,
            events: vec![],
            diagnostics: vec![],
            spent: 0,
        }
    }
}

/// The results of all operations of a transaction.
#[derive(Default)]
struct Effects {
    results: Vec<OperationResult>,
    metas: Vec<OperationMetaV2>,
    return_value: Option<ScVal>,
    events: Vec<ContractEvent>,
    diagnostics: Vec<DiagnosticEvent>,
    spent: i64,
    is_success: bool,
}

impl Ledger {
    pub fn apply(&mut self, opened: &Opened, place: Place, time: u64, charged: i64) -> Landed {
        let at = At { ledger: place.ledger, time };
        let mut before = vec![];
        let mut effects = Effects::default();
        // An earlier transaction of the same ledger may have used up what this one needs.
        let result = match self.rules(time, true).fault(opened) {
            Some(fault) => fault.result,
            None => {
                let sequence = SequenceNumber(opened.sequence());
                before = self.state.change_account(&opened.source, at.ledger, |account| account.seq_num = sequence);
                effects = self.apply_operations(opened, at);
                let results = std::mem::take(&mut effects.results).try_into().expect("at most 100 results");
                if effects.is_success {
                    TransactionResultResult::TxSuccess(results)
                } else {
                    TransactionResultResult::TxFailed(results)
                }
            }
        };
        let (after, refund) = self.refund(opened, effects.spent, at.ledger);
        Landed {
            hash: opened.hash,
            inner_hash: opened.inner_hash,
            place,
            is_bump: opened.bump.is_some(),
            is_soroban: opened.soroban().is_some(),
            is_success: effects.is_success,
            inclusion_fee: (charged - opened.resource_fee()) / opened.operation_count(),
            envelope: encoded(&opened.envelope),
            result: encoded(&result_of(opened, result, charged - refund)),
            meta: meta_of([before, after], effects.metas, effects.return_value, effects.diagnostics),
            events: effects.events,
        }
    }

    /// Applies all operations or none: the first one that fails undoes the ones before it.
    fn apply_operations(&mut self, opened: &Opened, at: At) -> Effects {
        let operations = &opened.transaction.operations;
        let undone = (operations.len() > 1).then(|| self.state.clone());
        let mut effects = Effects { is_success: true, ..Effects::default() };
        for operation in operations.iter() {
            let mut outcome = self.apply_operation(opened, operation, at);
            effects.results.push(outcome.result);
            effects.diagnostics.append(&mut outcome.diagnostics);
            if !outcome.is_success {
                if let Some(state) = undone {
                    self.state = state;
                }
                let Effects { results, diagnostics, .. } = effects;
                return Effects { results, diagnostics, ..Effects::default() };
            }
            effects.metas.push(OperationMetaV2 {
                ext: ExtensionPoint::V0,
                changes: changes(std::mem::take(&mut outcome.changes.meta)),
                events: outcome.events.clone().try_into().expect("as many as fit in memory"),
            });
            effects.events.append(&mut outcome.events);
            effects.return_value = outcome.return_value;
            effects.spent = outcome.spent;
            self.state.commit(outcome.changes, &self.modules);
        }
        effects
    }

    fn apply_operation(&self, opened: &Opened, operation: &Operation, at: At) -> Outcome {
        let source = opened.source_of(operation);
        match &operation.body {
            OperationBody::InvokeHostFunction(call) => self.apply_invocation(opened, call, &source, at),
            OperationBody::RestoreFootprint(_) => self.apply_restoration(opened, at),
            OperationBody::ExtendFootprintTtl(extend) => self.apply_extension(opened, extend.extend_to, at),
            OperationBody::CreateAccount(create) => self.create_account(create, &source, at.ledger),
            OperationBody::Payment(payment) if payment.asset == Asset::Native => {
                self.pay(payment, &source, at.ledger)
            }
            _ => Outcome {
                result: OperationResult::OpNotSupported,
                ..Outcome::failure(OperationResultTr::Inflation(InflationResult::NotTime))
            },
        }
    }

    /// Refunds the rest of the resource fee to the account that paid it.
    fn refund(&mut self, opened: &Opened, spent: i64, ledger: u32) -> (Vec<LedgerEntryChange>, i64) {
        let (fixed, _) = resource_fees(&self.settings, opened, 0);
        let refund = opened.resource_fee() - fixed - spent;
        if opened.soroban().is_none() || refund <= 0 {
            return (vec![], 0);
        }
        let told = self.state.change_account(opened.payer(), ledger, |account| account.balance += refund);
        (told, refund)
    }
}
