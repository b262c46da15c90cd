//! The bays that are like what launch mode `auto` asks for, and why the others are not.

use std::collections::BTreeMap;

use super::inventory::Inventory;
use super::passed::{PassedOver, Why};
use super::request::{Kind, Size, Wish};

/// What a wish says of a worker, whatever its size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Filter {
    kind: Kind,
    zone: Option<String>,
    labels: BTreeMap<String, String>,
}

impl Filter {
    pub fn of(wish: &Wish) -> Self {
        Self { kind: wish.kind.clone(), zone: wish.zone.clone(), labels: wish.labels.clone() }
    }
}

/// Which environments count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Serving {
    /// Those that serve now.
    Now,
    /// All that are registered, as if they served.
    Once,
}

/// How closely the bays of a choice belong together; the first is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    /// One zone, one GPU model.
    OnePool,
    /// One GPU model, several zones.
    OneModel,
    /// Several GPU models: only where no model has enough workers.
    Mixed,
}

impl Tier {
    pub const ALL: [Self; 3] = [Self::OnePool, Self::OneModel, Self::Mixed];
}

/// All bays that are like a wish.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    pub bays: Vec<u32>,
    groups: [Vec<BayGroup>; 3],
    /// The environments that are not.
    pub passed: PassedOver,
}

/// Bays from which a choice may be made.
#[derive(Clone, Debug)]
pub(super) struct BayGroup {
    pub tier: Tier,
    pub pools: Vec<u32>,
    pub bays: Vec<u32>,
}

impl Candidates {
    pub fn find(inventory: &Inventory, filter: &Filter, serving: Serving) -> Self {
        let mut found = Self::default();
        for (bay, number) in inventory.bays().iter().zip(0..) {
            let offer = inventory.offer(number);
            let label = filter.labels.iter().find(|(key, value)| offer.labels.get(*key) != Some(value));
            let why = if !filter.kind.takes(bay.model.as_deref()) {
                Why::OtherGpu(bay.model.clone())
            } else if filter.zone.is_some() && filter.zone != offer.zone {
                Why::OtherZone(offer.zone.clone())
            } else if let Some((key, _)) = label {
                Why::OtherLabel(key.clone())
            } else if serving == Serving::Now && !offer.status.is_reachable() {
                Why::NotServing(offer.status)
            } else {
                found.bays.push(number);
                continue;
            };
            found.passed.add(&offer.name, why);
        }
        found.groups = Tier::ALL.map(|tier| groups(inventory, &found.bays, tier));
        found
    }

    /// The groups of a tier in the order of their first environments.
    pub fn groups(&self, tier: Tier) -> &[BayGroup] {
        &self.groups[tier as usize]
    }

    /// The tiers from which a task of this size may be served; none where it would not fit if all were free.
    pub fn tiers(&self, inventory: &Inventory, size: Size) -> &'static [Tier] {
        let fits = |tier: Tier| self.groups(tier).iter().any(|group| holds(inventory, group, size));
        if fits(Tier::OneModel) {
            &Tier::ALL[..2]
        } else if fits(Tier::Mixed) {
            &Tier::ALL
        } else {
            &[]
        }
    }

    /// The most environments of one group that have enough workers for a node of such a size.
    pub fn most(&self, inventory: &Inventory, size: Size) -> u32 {
        let of_group = |group: &BayGroup| capacity(inventory, group, size);
        self.groups(Tier::Mixed).iter().map(of_group).max().unwrap_or(0)
    }
}

fn groups(inventory: &Inventory, bays: &[u32], tier: Tier) -> Vec<BayGroup> {
    let mut numbers: BTreeMap<(Option<u32>, Option<&str>), usize> = BTreeMap::new();
    let mut groups: Vec<BayGroup> = Vec::new();
    for number in bays {
        let bay = inventory.bay(*number);
        let key = match tier {
            Tier::OnePool => (Some(bay.pool), None),
            Tier::OneModel => (None, bay.model.as_deref()),
            Tier::Mixed => (None, None),
        };
        let at = *numbers.entry(key).or_insert(groups.len());
        if at == groups.len() {
            groups.push(BayGroup { tier, pools: Vec::new(), bays: Vec::new() });
        }
        let group = &mut groups[at];
        group.bays.push(*number);
        if !group.pools.contains(&bay.pool) {
            group.pools.push(bay.pool);
        }
    }
    groups
}

fn holds(inventory: &Inventory, group: &BayGroup, size: Size) -> bool {
    capacity(inventory, group, size) >= size.nodes
}

/// How many environments of a group have enough workers for a node.
fn capacity(inventory: &Inventory, group: &BayGroup, size: Size) -> u32 {
    let large = group.bays.iter().filter(|bay| inventory.bay(**bay).count >= size.workers);
    let mut environments: Vec<u32> = large.map(|bay| inventory.environment_number(*bay)).collect();
    // Bays are in the order of environments.
    environments.dedup();
    environments.len() as u32
}
