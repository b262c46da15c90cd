//! Launch mode `auto` for which all environments together are too small.

use super::candidates::{Candidates, Filter, Serving};
use super::inventory::Inventory;
use super::offer::Offer;
use super::request::Wish;
use super::waiting::{Reason, Waiting};
use crate::language::Text;

/// Why these environments could not hold a wish if all of them were free; none where they could.
pub fn never_fits<'a>(wish: &Wish, offers: impl IntoIterator<Item = &'a Offer>) -> Option<Text> {
    let inventory = Inventory::of(offers.into_iter());
    let candidates = Candidates::find(&inventory, &Filter::of(wish), Serving::Now);
    let is_held = wish.size.total() > 0 && !candidates.tiers(&inventory, wish.size).is_empty();
    (!is_held).then(|| Waiting::text_of(&reason(&inventory, wish, &candidates)))
}

/// The reason of a wish that does not fit these candidates.
pub(super) fn reason(inventory: &Inventory, wish: &Wish, candidates: &Candidates) -> Reason {
    let all = Candidates::find(inventory, &Filter::of(wish), Serving::Once);
    Reason::NeverFits {
        wish: wish.text(),
        size: wish.size,
        most: candidates.most(inventory, wish.size),
        fits_once_all_serve: !all.tiers(inventory, wish.size).is_empty(),
        passed_over: candidates.passed.clone(),
    }
}
