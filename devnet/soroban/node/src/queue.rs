//! Transactions that wait for a ledger, by core's rules: one for each account, and only a fee bump that bids
//! ten times as much replaces it. A dropped transaction is banned for some ledgers.
use crate::envelope::Opened;
use crate::host::xdr::*;
use crate::ledger::Ledger;
use crate::validity::{BASE_FEE, Fault};

const BUMP_FACTOR: i128 = 10;
/// The queue refuses a dropped transaction for so many ledgers.
const BAN_LEDGERS: u32 = 10;

pub struct Waiting {
    pub opened: Opened,
    /// The ledger before which the transaction arrived.
    pub since: u32,
}

pub enum Submission {
    Pending,
    Duplicate,
    TryAgainLater,
    Refused(TransactionResult),
}

/// The resources that the transactions of one ledger may use together, and the used part of them.
#[derive(Default)]
struct Used {
    instructions: i64,
    write_entries: u32,
    write_bytes: u32,
    bytes: u32,
    count: u32,
}

impl Ledger {
    pub fn submit(&mut self, opened: Opened) -> Submission {
        // A transaction also waits while a fee bump around it waits.
        let is_known = |known: &Opened| [known.hash, known.inner_hash].contains(&opened.hash);
        if self.waiting.iter().any(|waiting| is_known(&waiting.opened)) {
            return Submission::Duplicate;
        }
        if self.banned.get(&opened.hash).is_some_and(|until| *until >= self.sequence) {
            return Submission::TryAgainLater;
        }
        let rival = self.waiting.iter().position(|waiting| waiting.opened.source == opened.source);
        if let Some(answer) = rival.and_then(|place| answer_to_rival(&opened, &self.waiting[place].opened)) {
            return answer;
        }
        if let Some(fault) = self.rules(self.closed_at, false).fault(&opened) {
            return Submission::Refused(refusal(&opened, fault));
        }
        if let Some(place) = rival {
            self.waiting.remove(place);
        }
        self.waiting.push(Waiting { opened, since: self.sequence });
        Submission::Pending
    }

    /// Takes the transactions of the next ledger by their bids. The others wait, up to the limit of ledgers.
    pub fn choose(&mut self, sequence: u32, time: u64) -> Vec<Opened> {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_by_key(|waiting| std::cmp::Reverse(waiting.opened.bid_per_operation()));
        let mut used = Used::default();
        let mut chosen = vec![];
        for one in waiting {
            if self.rules(time, false).fault(&one.opened).is_some() {
                self.ban(&one.opened);
                continue;
            }
            let pays = one.opened.bid_per_operation() >= self.inclusion_price;
            if pays && self.takes(&mut used, &one.opened) {
                chosen.push(one.opened);
            } else if sequence - one.since < self.options.queue_ledgers {
                self.waiting.push(one);
            } else {
                self.ban(&one.opened);
            }
        }
        chosen
    }

    fn ban(&mut self, opened: &Opened) {
        self.banned.retain(|_, until| *until >= self.sequence);
        self.banned.insert(opened.hash, self.sequence + BAN_LEDGERS);
    }

    fn takes(&self, used: &mut Used, opened: &Opened) -> bool {
        if used.count >= self.options.max_transactions {
            return false;
        }
        let Some(data) = opened.soroban() else {
            used.count += 1;
            return true;
        };
        let resources = &data.resources;
        let next = Used {
            instructions: used.instructions + i64::from(resources.instructions),
            write_entries: used.write_entries + resources.footprint.read_write.len() as u32,
            write_bytes: used.write_bytes + resources.write_bytes,
            bytes: used.bytes + opened.size,
            count: used.count + 1,
        };
        let settings = &self.settings;
        let fits = next.instructions <= settings.compute.ledger_max_instructions
            && next.write_entries <= settings.ledger_cost.ledger_max_write_ledger_entries
            && next.write_bytes <= settings.ledger_cost.ledger_max_write_bytes
            && next.bytes <= settings.bandwidth.ledger_max_txs_size_bytes;
        if fits {
            *used = next;
        }
        fits
    }

    /// The fee that a transaction pays for inclusion, without its resource fee.
    pub fn inclusion_fee(&self, opened: &Opened) -> i64 {
        opened.bid().min(self.inclusion_price.max(BASE_FEE) * opened.operation_count())
    }
}

/// The result of a transaction whose account has another one waiting; None when it replaces that one.
fn answer_to_rival(opened: &Opened, other: &Opened) -> Option<Submission> {
    if opened.sequence() < other.sequence() {
        return Some(Submission::Refused(result_of(opened, TransactionResultResult::TxBadSeq, 0)));
    }
    if opened.bump.is_none() || opened.sequence() > other.sequence() {
        return Some(Submission::TryAgainLater);
    }
    let [bid, other_bid] = [opened, other].map(|one| i128::from(one.bid()));
    let [count, other_count] = [opened, other].map(|one| i128::from(one.operation_count()));
    let least = (BUMP_FACTOR * other_bid * count + other_count - 1) / other_count;
    if bid >= least {
        return None;
    }
    Some(Submission::Refused(TransactionResult {
        fee_charged: i64::try_from(least).unwrap_or(i64::MAX),
        result: TransactionResultResult::TxInsufficientFee,
        ext: TransactionResultExt::V0,
    }))
}

/// The result of a transaction that the queue refuses.
fn refusal(opened: &Opened, fault: Fault) -> TransactionResult {
    if fault.is_of_bump {
        return TransactionResult { fee_charged: 0, result: fault.result, ext: TransactionResultExt::V0 };
    }
    result_of(opened, fault.result, 0)
}

/// A fee bump's result is wrapped around the inner one.
pub fn result_of(opened: &Opened, result: TransactionResultResult, fee_charged: i64) -> TransactionResult {
    use TransactionResultResult as R;
    if opened.bump.is_none() {
        return TransactionResult { fee_charged, result, ext: TransactionResultExt::V0 };
    }
    let is_success = matches!(result, R::TxSuccess(_));
    let pair = InnerTransactionResultPair {
        transaction_hash: Hash(opened.inner_hash),
        result: InnerTransactionResult {
            fee_charged: 0,
            result: inner_result(result),
            ext: InnerTransactionResultExt::V0,
        },
    };
    let result = if is_success { R::TxFeeBumpInnerSuccess(pair) } else { R::TxFeeBumpInnerFailed(pair) };
    TransactionResult { fee_charged, result, ext: TransactionResultExt::V0 }
}

fn inner_result(result: TransactionResultResult) -> InnerTransactionResultResult {
    use InnerTransactionResultResult as I;
    use TransactionResultResult as R;
    match result {
        R::TxSuccess(results) => I::TxSuccess(results),
        R::TxFailed(results) => I::TxFailed(results),
        R::TxTooEarly => I::TxTooEarly,
        R::TxTooLate => I::TxTooLate,
        R::TxMissingOperation => I::TxMissingOperation,
        R::TxBadSeq => I::TxBadSeq,
        R::TxBadAuth => I::TxBadAuth,
        R::TxBadAuthExtra => I::TxBadAuthExtra,
        R::TxInsufficientBalance => I::TxInsufficientBalance,
        R::TxInsufficientFee => I::TxInsufficientFee,
        R::TxNoAccount => I::TxNoAccount,
        R::TxMalformed => I::TxMalformed,
        R::TxSorobanInvalid => I::TxSorobanInvalid,
        _ => I::TxInternalError,
    }
}
