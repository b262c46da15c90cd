//! Why an attempt ended, from all that is known of its ranks and nodes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fermi_domain::exit::Exit;
use fermi_domain::failure::{RankEnd, RankFailure, Reached, Role, early_return, first_failure, returned_early};
use fermi_domain::hang::StackGroup;
use fermi_domain::ids::Rank;
use fermi_domain::pulse::Phase;
use fermi_domain::verdict::{FailedRank, LeaseHolder, MissingRank, OtherFailure, Verdict, VerdictKind};

use super::vocabulary::{Failure, Loss, NodeRanks};

/// Two ends seen in one look at the machine cannot be put in order.
const SAME_LOOK_MS: u64 = 2;

/// A rank that ended badly by itself, not by our signals.
#[derive(Debug)]
pub struct Ended {
    pub rank: u32,
    pub exit: Exit,
    pub at_ms: u64,
    pub failure: Failure,
    pub reached: Reached,
}

impl Ended {
    pub fn role(&self) -> Option<Role> {
        self.failure.diagnosis.as_ref().map(|diagnosis| diagnosis.role)
    }

    fn end(&self) -> RankEnd<'_> {
        RankEnd { rank: self.rank, at_ms: self.at_ms, reached: &self.reached }
    }
}

/// A rank that returned 0 while others ran.
#[derive(Debug)]
pub struct Returned {
    pub rank: u32,
    pub at_ms: u64,
    pub reached: Reached,
    pub log: Option<PathBuf>,
}

impl Returned {
    fn end(&self) -> RankEnd<'_> {
        RankEnd { rank: self.rank, at_ms: self.at_ms, reached: &self.reached }
    }
}

/// The ranks of a start-up that took too long.
#[derive(Debug, Default)]
pub struct NeverCame {
    /// With what they did instead, where that is known.
    pub missing: Vec<(u32, Option<Phase>)>,
    /// Those that were there.
    pub joined: Vec<u32>,
}

/// The facts of an attempt that went wrong.
#[derive(Debug)]
pub struct Case<'a> {
    pub nodes: &'a [NodeRanks],
    pub failed: &'a [Ended],
    pub returned: &'a [Returned],
    pub never_came: &'a NeverCame,
    pub lost: &'a BTreeMap<usize, (u64, Loss)>,
}

impl Case<'_> {
    pub fn verdict(&self) -> Verdict {
        let failures: Vec<RankFailure> = self.failed.iter().map(|ended| self.failure(ended)).collect();
        let first = first_failure(&failures).and_then(|index| self.failed.get(index));
        if let Some((node, loss)) = self.loss_before(first) {
            return self.loss_verdict(node, loss);
        }
        let Some(first) = first else {
            let NeverCame { missing, joined } = self.never_came;
            let missing = missing.iter().map(|(rank, phase)| MissingRank {
                rank: Rank(*rank),
                node: self.home_of(*rank),
                phase: *phase,
            });
            let joined = joined.iter().map(|rank| Rank(*rank)).collect();
            return Verdict::of(VerdictKind::StartTimedOut { missing: missing.collect(), joined });
        };
        if let Some(verdict) = self.early_return(first) {
            return verdict;
        }
        Verdict {
            evidence: first.failure.evidence.clone(),
            traceback: first.failure.traceback.clone(),
            log: first.failure.log.clone(),
            others: self.others(first.rank, first.at_ms),
            ..Verdict::rank_failed(self.failed_rank(first), first.failure.diagnosis.clone())
        }
    }

    /// The nodes did not all come in time. One that was there and did not come back is why; at the very start
    /// the names of the missing are not known.
    pub fn not_assembled(&self) -> Verdict {
        match self.lost.first_key_value() {
            Some((node, (_, loss))) => self.loss_verdict(*node, *loss),
            None => Verdict::of(VerdictKind::StartTimedOut { missing: Vec::new(), joined: Vec::new() }),
        }
    }

    /// Where even the first that failed is a victim, and a rank has left them.
    fn early_return(&self, first: &Ended) -> Option<Verdict> {
        if first.role() != Some(Role::Victim) {
            return None;
        }
        let returned: Vec<RankEnd<'_>> = self.returned.iter().map(Returned::end).collect();
        let victims: Vec<RankEnd<'_>> = self.failed.iter().map(Ended::end).collect();
        let early = returned_early(&returned, &victims);
        let left = early.first()?;
        let line = first.failure.diagnosis.as_ref().and_then(|diagnosis| diagnosis.line.clone());
        let failed = FailedRank { rank: Rank(left.rank), node: self.home_of(left.rank), exit: Exit::SUCCESS };
        let evidence = match left.reached.frames.is_empty() {
            true => Vec::new(),
            false => StackGroup { ranks: vec![left.rank], frames: left.reached.frames.clone() }.lines(),
        };
        let log = self.returned.iter().find(|returned| returned.rank == left.rank).and_then(|it| it.log.clone());
        Some(Verdict {
            evidence,
            log,
            others: self.others(left.rank, left.at_ms),
            ..Verdict::rank_failed(failed, Some(early_return::diagnosis(&early, &victims, line)))
        })
    }

    fn failure(&self, ended: &Ended) -> RankFailure {
        RankFailure {
            rank: Rank(ended.rank),
            node: self.home_of(ended.rank),
            at_ms: i64::try_from(ended.at_ms).unwrap_or(i64::MAX),
            uncertainty_ms: SAME_LOOK_MS,
            role: ended.role(),
        }
    }

    fn failed_rank(&self, ended: &Ended) -> FailedRank {
        FailedRank { rank: Rank(ended.rank), node: self.home_of(ended.rank), exit: ended.exit.clone() }
    }

    /// Those that failed after this rank, which ended then.
    fn others(&self, first: u32, at_ms: u64) -> Vec<OtherFailure> {
        self.failed
            .iter()
            .filter(|ended| ended.rank != first)
            .map(|ended| OtherFailure {
                failed: self.failed_rank(ended),
                after_ms: ended.at_ms.cast_signed() - at_ms.cast_signed(),
                role: ended.role(),
            })
            .collect()
    }

    /// The loss of a node, when it explains the first failed rank: that one is a victim, or failed later.
    fn loss_before(&self, first: Option<&Ended>) -> Option<(usize, Loss)> {
        let (node, (at_ms, loss)) = self.lost.iter().min_by_key(|(_, (at_ms, _))| *at_ms)?;
        let explains = first.is_none_or(|ended| ended.role() == Some(Role::Victim) || ended.at_ms >= *at_ms);
        explains.then_some((*node, *loss))
    }

    fn loss_verdict(&self, node: usize, loss: Loss) -> Verdict {
        let node = self.nodes.get(node).map(|node_ranks| node_ranks.name.clone()).unwrap_or_default();
        Verdict::of(match loss {
            Loss::SupervisorDied => VerdictKind::supervisor_lost(node),
            Loss::LeaseEnded => VerdictKind::SupervisorLost { node, lease: Some(LeaseHolder::Coordinator) },
            Loss::Silent | Loss::LinkForged => VerdictKind::NodeLost { node },
        })
    }

    fn home_of(&self, rank: u32) -> String {
        self.nodes
            .iter()
            .find(|node_ranks| node_ranks.ranks.contains(&rank))
            .map(|node_ranks| node_ranks.name.clone())
            .unwrap_or_default()
    }
}
