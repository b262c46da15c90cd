//! Who waits for whom, from what is seen of each rank.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{AwaitedRank, RanksWait};
use crate::pulse::Phase;

/// Where a rank is on its way to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Standing {
    /// It has not reached the master's port.
    NotJoined,
    Joined,
    /// It has returned.
    Ended,
}

/// What is seen of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankStanding {
    pub rank: u32,
    pub node: String,
    pub standing: Standing,
    /// None without the hook.
    pub phase: Option<Phase>,
    /// A key of the store that it waits for.
    pub waits_for: Option<String>,
}

/// How a start-up stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartUp {
    /// Nobody waits.
    Quiet,
    Waits(RanksWait),
    /// All have met; what they do from here on is no start-up.
    Over,
}

/// Decides how a start-up stands. Where Fermi hosts the store those wait who wait for a key; where it does not, those who have
/// joined before all have.
pub fn view(ranks: &[RankStanding], hosts_store: bool) -> StartUp {
    let of = |standing: Standing| ranks.iter().filter(move |rank| rank.standing == standing);
    let waiting: Vec<&RankStanding> =
        of(Standing::Joined).filter(|rank| !hosts_store || rank.waits_for.is_some()).collect();
    let missing: Vec<&RankStanding> = of(Standing::NotJoined).collect();
    if !missing.is_empty() {
        return if waiting.is_empty() { StartUp::Quiet } else { waits(&waiting, missing) };
    }
    if !hosts_store {
        return StartUp::Over;
    }
    if of(Standing::Joined).all(has_begun) {
        return StartUp::Over;
    }
    let named = named_by_keys(ranks, &waiting);
    let awaited = if named.is_empty() { those_who_do_not_wait(ranks, &waiting) } else { named };
    match (waiting.is_empty(), awaited.is_empty()) {
        (false, false) => waits(&waiting, awaited),
        // Without the hook nothing tells when a start-up ends, but that nobody waits.
        (true, _) if of(Standing::Joined).all(|rank| rank.phase.is_none()) => StartUp::Over,
        _ => StartUp::Quiet,
    }
}

fn waits(waiting: &[&RankStanding], awaited: Vec<&RankStanding>) -> StartUp {
    let awaited = awaited.into_iter().map(|rank| AwaitedRank {
        rank: rank.rank,
        node: rank.node.clone(),
        standing: rank.standing,
        phase: rank.phase,
    });
    StartUp::Waits(RanksWait { waiting: waiting.iter().map(|rank| rank.rank).collect(), awaited: awaited.collect() })
}

fn has_begun(rank: &RankStanding) -> bool {
    rank.phase.is_some_and(|phase| phase >= Phase::FirstStep)
}

/// The ranks whose own keys are waited for and that wait for none themselves.
fn named_by_keys<'a>(ranks: &'a [RankStanding], waiting: &[&RankStanding]) -> Vec<&'a RankStanding> {
    let named: BTreeSet<u32> = waiting.iter().filter_map(|rank| rank_of_key(rank.waits_for.as_deref()?)).collect();
    ranks.iter().filter(|rank| named.contains(&rank.rank) && rank.waits_for.is_none()).collect()
}

/// The rank that a process group's key is of, such as `/default_pg/0//cpu//0/7`.
fn rank_of_key(key: &str) -> Option<u32> {
    let (group, rank) = key.rsplit_once('/')?;
    rank.parse().ok().filter(|_| group.contains("//"))
}

/// Where at least half of the ranks wait while they start, those that do not. Fewer may wait for anything.
fn those_who_do_not_wait<'a>(ranks: &'a [RankStanding], waiting: &[&RankStanding]) -> Vec<&'a RankStanding> {
    let starts = |rank: &&RankStanding| matches!(rank.phase, Some(Phase::Import | Phase::Init | Phase::Load));
    if waiting.is_empty() || waiting.len() * 2 < ranks.len() || !waiting.iter().all(starts) {
        return Vec::new();
    }
    ranks.iter().filter(|rank| rank.waits_for.is_none()).collect()
}
