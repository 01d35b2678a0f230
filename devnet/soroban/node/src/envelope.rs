//! A transaction's envelope, and what the ledger must know of it.
use crate::codec::{decoded, encoded, owner_of};
use crate::host::xdr::*;

pub struct Opened {
    pub envelope: TransactionEnvelope,
    pub hash: [u8; 32],
    /// The hash of the transaction inside a fee bump; otherwise the same hash.
    pub inner_hash: [u8; 32],
    pub transaction: Transaction,
    pub signatures: Vec<DecoratedSignature>,
    pub bump: Option<FeeBump>,
    pub source: AccountId,
    /// The size of the inner envelope, in bytes.
    pub size: u32,
}

pub struct FeeBump {
    pub payer: AccountId,
    pub fee: i64,
    pub signatures: Vec<DecoratedSignature>,
}

/// Returns None for bytes that are no envelope of a current kind.
pub fn open(bytes: &[u8], network: [u8; 32]) -> Option<Opened> {
    let envelope: TransactionEnvelope = decoded(bytes)?;
    let (inner, bump) = match &envelope {
        TransactionEnvelope::Tx(inner) => (inner.clone(), None),
        TransactionEnvelope::TxFeeBump(outer) => {
            let FeeBumpTransactionInnerTx::Tx(inner) = &outer.tx.inner_tx;
            let payer = owner_of(&outer.tx.fee_source);
            let signatures = outer.signatures.to_vec();
            (inner.clone(), Some(FeeBump { payer, fee: outer.tx.fee, signatures }))
        }
        TransactionEnvelope::TxV0(_) => return None,
    };
    Some(Opened {
        hash: envelope.hash(network).ok()?,
        inner_hash: inner.hash(network).ok()?,
        size: encoded(&TransactionEnvelope::Tx(inner.clone())).len() as u32,
        source: owner_of(&inner.tx.source_account),
        transaction: inner.tx,
        signatures: inner.signatures.to_vec(),
        bump,
        envelope,
    })
}

impl Opened {
    pub fn soroban(&self) -> Option<&SorobanTransactionData> {
        match &self.transaction.ext {
            TransactionExt::V1(data) => Some(data),
            TransactionExt::V0 => None,
        }
    }

    pub fn payer(&self) -> &AccountId {
        self.bump.as_ref().map_or(&self.source, |bump| &bump.payer)
    }

    pub fn offered_fee(&self) -> i64 {
        self.bump.as_ref().map_or(i64::from(self.transaction.fee), |bump| bump.fee)
    }

    pub fn resource_fee(&self) -> i64 {
        self.soroban().map_or(0, |data| data.resource_fee)
    }

    /// The fee that the transaction offers for inclusion, without the resource fee.
    pub fn bid(&self) -> i64 {
        self.offered_fee() - self.resource_fee()
    }

    /// A fee bump counts as one more operation.
    pub fn operation_count(&self) -> i64 {
        self.transaction.operations.len() as i64 + i64::from(self.bump.is_some())
    }

    pub fn bid_per_operation(&self) -> i64 {
        self.bid() / self.operation_count().max(1)
    }

    pub fn sequence(&self) -> i64 {
        self.transaction.seq_num.0
    }

    pub fn time_bounds(&self) -> Option<(u64, u64)> {
        let bounds = match &self.transaction.cond {
            Preconditions::None => None,
            Preconditions::Time(bounds) => Some(bounds),
            Preconditions::V2(more) => more.time_bounds.as_ref(),
        }?;
        Some((bounds.min_time.0, bounds.max_time.0))
    }

    pub fn source_of(&self, operation: &Operation) -> AccountId {
        operation.source_account.as_ref().map_or_else(|| self.source.clone(), owner_of)
    }

    /// The places in the read-write footprint whose archived entries the transaction restores.
    pub fn restored_places(&self) -> &[u32] {
        match self.soroban().map(|data| &data.ext) {
            Some(SorobanTransactionDataExt::V1(more)) => &more.archived_soroban_entries,
            _ => &[],
        }
    }
}

pub fn is_soroban(operation: &Operation) -> bool {
    matches!(
        operation.body,
        OperationBody::InvokeHostFunction(_)
            | OperationBody::RestoreFootprint(_)
            | OperationBody::ExtendFootprintTtl(_)
    )
}
