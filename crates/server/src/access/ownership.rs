//! Whose a dataset, a model or a group is: its maker's.

use fermi_domain::access::Deed;
use fermi_domain::principal::Principal;
use fermi_store::{StoreError, Transaction};

use super::permit;
use crate::envelope::ApiProblem;

/// Notes whose a new thing is.
pub fn give(tx: &mut Transaction<'_>, thing: &str, maker: &Principal) -> Result<(), StoreError> {
    match maker.user() {
        Some(user) => tx.set_owner(thing, user),
        None => Ok(()),
    }
}

/// Whether the caller may change or delete it.
pub fn permit_change(tx: &Transaction<'_>, thing: &str, caller: &Principal) -> Result<(), ApiProblem> {
    permit(caller, Deed::Change, tx.owner(thing)?.as_deref())
}
