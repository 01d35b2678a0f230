//! The operations that restore archived entries and extend the lives of live ones.
use crate::apply::{At, Outcome};
use crate::codec::encoded;
use crate::envelope::Opened;
use crate::fees::{longer_life, rent_fee, resource_fees};
use crate::host::xdr::*;
use crate::ledger::Ledger;
use crate::state::{Changes, Stored, life_entry};
use std::rc::Rc;

impl Ledger {
    pub fn apply_restoration(&self, opened: &Opened, at: At) -> Outcome {
        use RestoreFootprintResult as R;
        let fail = |result| Outcome::failure(OperationResultTr::RestoreFootprint(result));
        let Some(data) = opened.soroban() else { return fail(R::Malformed) };
        let resources = &data.resources;
        let until = self.restored_life(at.ledger);
        let (mut changes, mut rents, mut bytes) = (Changes::default(), vec![], 0);
        for key in resources.footprint.read_write.iter() {
            let Some(stored) = self.state.get(key) else { continue };
            if stored.live_until.is_none_or(|live| live >= at.ledger) {
                continue;
            }
            bytes += encoded(&*stored.entry).len() as u32;
            if bytes > resources.disk_read_bytes || bytes > resources.write_bytes {
                return fail(R::ResourceLimitExceeded);
            }
            rents.push(longer_life(key, stored, None, until));
            changes.meta.push(LedgerEntryChange::Restored((*stored.entry).clone()));
            changes.meta.push(LedgerEntryChange::Restored(life_entry(key, until, at.ledger)));
            changes.entries.push(living(key, stored, until));
        }
        let spent = rent_fee(&self.settings, &rents, at.ledger);
        if !self.affords(opened, spent) {
            return fail(R::InsufficientRefundableFee);
        }
        Outcome { spent, ..Outcome::success(OperationResultTr::RestoreFootprint(R::Success), changes) }
    }

    pub fn apply_extension(&self, opened: &Opened, extend_to: u32, at: At) -> Outcome {
        use ExtendFootprintTtlResult as R;
        let fail = |result| Outcome::failure(OperationResultTr::ExtendFootprintTtl(result));
        let Some(data) = opened.soroban() else { return fail(R::Malformed) };
        let until = at.ledger + extend_to;
        let (mut changes, mut rents) = (Changes::default(), vec![]);
        for key in data.resources.footprint.read_only.iter() {
            let Some(stored) = self.state.get(key) else { continue };
            let Some(live) = stored.live_until.filter(|live| (at.ledger..until).contains(live)) else { continue };
            rents.push(longer_life(key, stored, Some(live), until));
            changes.meta.push(LedgerEntryChange::State(life_entry(key, live, at.ledger)));
            changes.meta.push(LedgerEntryChange::Updated(life_entry(key, until, at.ledger)));
            changes.entries.push(living(key, stored, until));
        }
        let spent = rent_fee(&self.settings, &rents, at.ledger);
        if !self.affords(opened, spent) {
            return fail(R::InsufficientRefundableFee);
        }
        Outcome { spent, ..Outcome::success(OperationResultTr::ExtendFootprintTtl(R::Success), changes) }
    }

    fn affords(&self, opened: &Opened, spent: i64) -> bool {
        let (fixed, _) = resource_fees(&self.settings, opened, 0);
        spent <= opened.resource_fee() - fixed
    }
}

fn living(key: &LedgerKey, stored: &Stored, until: u32) -> (Rc<LedgerKey>, Option<Stored>) {
    (Rc::new(key.clone()), Some(Stored { entry: stored.entry.clone(), live_until: Some(until) }))
}
