//! The operations without contracts that create and fund accounts.
use crate::apply::Outcome;
use crate::codec::owner_of;
use crate::host::xdr::*;
use crate::ledger::Ledger;
use crate::state::{BASE_RESERVE, Changes, Stored, account_entry, account_key, first_sequence, new_account, spendable};
use std::rc::Rc;

impl Ledger {
    pub fn create_account(&self, create: &CreateAccountOp, source: &AccountId, ledger: u32) -> Outcome {
        let fail = |result| Outcome::failure(OperationResultTr::CreateAccount(result));
        if self.state.account(&create.destination).is_some() {
            return fail(CreateAccountResult::AlreadyExist);
        }
        if create.starting_balance < 2 * BASE_RESERVE {
            return fail(CreateAccountResult::LowReserve);
        }
        let mut changes = Changes::default();
        if !self.move_lumens(&mut changes, source, -create.starting_balance, ledger) {
            return fail(CreateAccountResult::Underfunded);
        }
        let made = new_account(&create.destination, create.starting_balance, first_sequence(ledger));
        let entry = account_entry(made, ledger);
        changes.meta.push(LedgerEntryChange::Created(entry.clone()));
        changes.entries.push(whole(entry));
        Outcome::success(OperationResultTr::CreateAccount(CreateAccountResult::Success), changes)
    }

    pub fn pay(&self, payment: &PaymentOp, source: &AccountId, ledger: u32) -> Outcome {
        let fail = |result| Outcome::failure(OperationResultTr::Payment(result));
        let to = owner_of(&payment.destination);
        if payment.amount <= 0 {
            return fail(PaymentResult::Malformed);
        }
        if self.state.account(&to).is_none() {
            return fail(PaymentResult::NoDestination);
        }
        let mut changes = Changes::default();
        if to != *source {
            if !self.move_lumens(&mut changes, source, -payment.amount, ledger) {
                return fail(PaymentResult::Underfunded);
            }
            self.move_lumens(&mut changes, &to, payment.amount, ledger);
        }
        Outcome::success(OperationResultTr::Payment(PaymentResult::Success), changes)
    }

    /// Returns false when the account's balance is too small.
    fn move_lumens(&self, changes: &mut Changes, id: &AccountId, amount: i64, ledger: u32) -> bool {
        let Some(stored) = self.state.get(&account_key(id)) else { return false };
        let LedgerEntryData::Account(account) = &stored.entry.data else { return false };
        if amount < 0 && spendable(account) < -amount {
            return false;
        }
        let entry = account_entry(AccountEntry { balance: account.balance + amount, ..account.clone() }, ledger);
        changes.meta.push(LedgerEntryChange::State((*stored.entry).clone()));
        changes.meta.push(LedgerEntryChange::Updated(entry.clone()));
        changes.entries.push(whole(entry));
        true
    }
}

fn whole(entry: LedgerEntry) -> (Rc<LedgerKey>, Option<Stored>) {
    (Rc::new(entry.to_key()), Some(Stored { entry: Rc::new(entry), live_until: None }))
}
