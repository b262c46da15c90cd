//! What launch mode `auto` has chosen, why, and what it passed over.

use std::collections::BTreeSet;

use super::candidates::Candidates;
use super::moment::Latest;
use super::passed::{self, PassedOver, Why};
use super::pick::Picked;
use super::request::Wish;
use super::sheet::{BayStanding, Sheet};
use crate::language::Text;

/// A choice that explains itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The environments by name, with how many of their workers.
    pub nodes: Vec<(String, u32)>,
    pub closeness: Closeness,
    pub passed_over: PassedOver,
}

/// How closely what was chosen belongs together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closeness {
    /// One zone and one GPU model.
    OnePool { zone: Option<String>, model: Option<String> },
    /// No zone alone has enough free workers.
    SeveralZones { model: Option<String> },
    /// No GPU model alone has enough workers.
    SeveralModels,
}

/// Draws the conclusion before the workers are given: what is free is still seen as free.
pub(super) fn explain(sheet: &Sheet<'_>, candidates: &Candidates, wish: &Wish, picked: &Picked, end: Latest) -> Choice {
    let inventory = sheet.inventory;
    let mut chosen: Vec<u32> = picked.workers.iter().map(|worker| inventory.bay_of(*worker)).collect();
    let mut nodes: Vec<(String, u32)> = Vec::new();
    for bay in &chosen {
        let name = &inventory.offer(*bay).name;
        match nodes.last_mut().filter(|(last, _)| last == name) {
            Some((_, count)) => *count += 1,
            None => nodes.push((name.clone(), 1)),
        }
    }
    chosen.sort_unstable();
    let passed_over = passed_over(sheet, candidates, wish.size.workers.max(1), &chosen, end);
    Choice { nodes, closeness: closeness(sheet, picked), passed_over }
}

/// What is said of the candidates that were not chosen. With a thousand starts at once a thousand environments are looked at
/// for each: so they are counted by number, and only those are named that are told.
fn passed_over(sheet: &Sheet<'_>, candidates: &Candidates, least: u32, chosen: &[u32], end: Latest) -> PassedOver {
    let mut counted: [Counted; 4] = Default::default();
    for bay in candidates.bays.iter().filter(|bay| chosen.binary_search(bay).is_err()) {
        counted[sheet.standing(*bay, least, end) as usize].add(*bay);
    }
    let mut passed_over = candidates.passed.clone();
    for standing in [BayStanding::HasRoom, BayStanding::Kept, BayStanding::Busy, BayStanding::TooFew] {
        let Counted { count, first } = &counted[standing as usize];
        let why = |bay: u32| match standing {
            BayStanding::HasRoom => Why::HasRoom,
            BayStanding::Kept => Why::Kept,
            BayStanding::Busy => Why::Busy(sheet.available_in(bay, least)),
            BayStanding::TooFew => Why::TooFew(sheet.inventory.bay(bay).count),
        };
        let first = first.iter().take(*count).map(|bay| (sheet.inventory.offer(*bay).name.clone(), why(*bay)));
        passed_over.add_all(*count, first);
    }
    passed_over
}

/// How many bays there are of a kind, and the first of them.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    count: usize,
    first: [u32; passed::NAMED],
}

impl Counted {
    fn add(&mut self, bay: u32) {
        if let Some(place) = self.first.get_mut(self.count) {
            *place = bay;
        }
        self.count += 1;
    }
}

fn closeness(sheet: &Sheet<'_>, picked: &Picked) -> Closeness {
    let bays: BTreeSet<u32> = picked.workers.iter().map(|worker| sheet.inventory.bay_of(*worker)).collect();
    let zones: BTreeSet<_> = bays.iter().map(|bay| sheet.inventory.offer(*bay).zone.clone()).collect();
    let models: BTreeSet<_> = bays.iter().map(|bay| sheet.inventory.bay(*bay).model.clone()).collect();
    let model = models.first().cloned().flatten();
    match (zones.len(), models.len()) {
        (0 | 1, 0 | 1) => Closeness::OnePool { zone: zones.first().cloned().flatten(), model },
        (_, 0 | 1) => Closeness::SeveralZones { model },
        _ => Closeness::SeveralModels,
    }
}

impl Choice {
    /// Such as `takes gn6 (8), gn7 (8): one zone (a), one GPU model (H100); passed over: 1 busy (gn8)`.
    pub fn text(&self) -> Text {
        const NAMED: usize = 8;
        let names: Vec<String> =
            self.nodes.iter().take(NAMED).map(|(name, count)| format!("{name} ({count})")).collect();
        let more = if self.nodes.len() > NAMED { " …" } else { "" };
        let why = self.closeness.text();
        let chosen = Text::new(
            format!("选择 {}{more}：{}", names.join("、"), why.zh),
            format!("takes {}{more}: {}", names.join(", "), why.en),
        );
        if self.passed_over.is_empty() {
            return chosen;
        }
        let passed = self.passed_over.text();
        chosen.followed_by(&Text::new(format!("未选：{}", passed.zh), format!("passed over: {}", passed.en)))
    }
}

impl Closeness {
    fn text(&self) -> Text {
        let in_brackets = |name: &Option<String>| name.as_ref().map_or(String::new(), |name| format!(" ({name})"));
        match self {
            Self::OnePool { zone, model: None } => {
                Text::new(format!("同一可用区{}", in_brackets(zone)), format!("one zone{}", in_brackets(zone)))
            }
            Self::OnePool { zone, model } => Text::new(
                format!("同一可用区{}，同一 GPU 型号{}", in_brackets(zone), in_brackets(model)),
                format!("one zone{}, one GPU model{}", in_brackets(zone), in_brackets(model)),
            ),
            Self::SeveralZones { model: None } => Text::new(
                "没有一个可用区有足够的空闲 Worker，因此跨可用区",
                "several zones, because none has enough free workers",
            ),
            Self::SeveralZones { model } => Text::new(
                format!("没有一个可用区有足够的空闲 Worker，因此跨可用区，GPU 型号相同{}", in_brackets(model)),
                format!("several zones, because none has enough free workers; one GPU model{}", in_brackets(model)),
            ),
            Self::SeveralModels => Text::new(
                "没有一种 GPU 型号数量足够，因此混用多种型号",
                "several GPU models, because there are not enough of any one",
            ),
        }
    }
}
