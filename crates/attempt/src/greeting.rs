//! How a node introduces itself to the first node of its run.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bundle::{Gathering, NodeBundle};
use crate::handshake::Nonce;
use crate::join_refusal::JoinRefusal;
use crate::strangers_words::legible;

/// Version of the messages on a link: since 2 both ends prove that they know the secret, and sign every frame.
pub const LINK_VERSION: u32 = 2;
/// The oldest version that is understood: the one before ours, so that nodes can be upgraded one after the other. Where a
/// secret is set nodes of version 1 are refused, since they send it in clear.
pub const OLDEST_LINK_VERSION: u32 = LINK_VERSION - 1;
/// What nodes without a secret speak: there is nothing to prove, and coordinators of version 1 take them in.
pub const LINK_VERSION_WITHOUT_SECRET: u32 = 1;

/// How a node introduces itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Greeting {
    pub version: u32,
    /// The release of Fermi, for the sentence when versions differ.
    pub fermi: String,
    /// Which run it means: the user's `--rdzv-id`, else empty.
    pub run: String,
    /// Empty since version 2; nodes of version 1 send the secret itself.
    pub secret: String,
    /// What this node has never said before; only where it knows a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<Nonce>,
    pub name: String,
    /// The node rank it wants, when its user named one.
    pub node_rank: Option<u32>,
    pub ranks: u32,
    /// Whether it answers when it is asked for its checkpoints; older releases do not.
    #[serde(default)]
    pub tells_checkpoints: bool,
    /// Whether its ranks can meet at a store that the coordinator hosts; those of older releases look for rank 0's.
    #[serde(default)]
    pub meets_at_hosted_store: bool,
    /// The role of its ranks; older releases do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What it was told of the run, which all nodes must be told alike; older releases do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Terms>,
}

/// What every node of a run is told by itself, and by which it decides how long its ranks may go on: where two were told
/// otherwise, the ranks of one could outlive what the other believes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Terms {
    pub nodes: NodeCount,
    pub node_lost_after_ms: u64,
}

/// How many nodes a run has, at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCount {
    pub least: u32,
    pub most: u32,
}

impl fmt::Display for NodeCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least == self.most {
            true => write!(f, "{}", self.most),
            false => write!(f, "{}:{}", self.least, self.most),
        }
    }
}

impl Terms {
    pub fn of(gathering: &Gathering) -> Self {
        let nodes = NodeCount { least: gathering.least_nodes, most: gathering.nodes };
        Self { nodes, node_lost_after_ms: gathering.node_lost_after_ms }
    }

    /// Leases, which hang on the time after which a node is lost, are held in elastic runs alone.
    pub fn check(self, theirs: Self) -> Result<(), JoinRefusal> {
        let is_elastic = self.nodes.least < self.nodes.most;
        if theirs.nodes != self.nodes {
            return Err(JoinRefusal::OtherNodeCount { ours: self.nodes, theirs: theirs.nodes });
        }
        if is_elastic && theirs.node_lost_after_ms != self.node_lost_after_ms {
            let (ours_ms, theirs_ms) = (self.node_lost_after_ms, theirs.node_lost_after_ms);
            return Err(JoinRefusal::OtherPatience { ours_ms, theirs_ms });
        }
        Ok(())
    }
}

impl Greeting {
    /// How this node introduces itself.
    pub fn of(bundle: &NodeBundle) -> Self {
        Self {
            version: LINK_VERSION,
            fermi: env!("CARGO_PKG_VERSION").to_owned(),
            run: bundle.gathering.run.clone(),
            secret: String::new(),
            nonce: None,
            name: bundle.node_name.clone(),
            node_rank: bundle.gathering.node_rank,
            ranks: u32::try_from(bundle.ranks.len()).unwrap_or(u32::MAX),
            tells_checkpoints: true,
            meets_at_hosted_store: true,
            role: bundle.ranks.first().map(|rank| rank.place.role.clone()),
            terms: Some(Terms::of(&bundle.gathering)),
        }
    }

    /// Whether the node speaks a version that is understood.
    pub fn check_version(&self) -> Result<(), JoinRefusal> {
        if is_understood(self.version, OLDEST_LINK_VERSION, LINK_VERSION) {
            return Ok(());
        }
        let ours = env!("CARGO_PKG_VERSION").to_owned();
        Err(JoinRefusal::OtherVersion { ours, theirs: legible(&self.fermi) })
    }

    /// That of a node with one rank in a run without a secret.
    #[cfg(test)]
    pub fn sample() -> Self {
        Self {
            version: LINK_VERSION,
            fermi: "1".into(),
            run: "r".into(),
            secret: String::new(),
            nonce: None,
            name: "gn7".into(),
            node_rank: None,
            ranks: 1,
            tells_checkpoints: true,
            meets_at_hosted_store: true,
            role: None,
            terms: None,
        }
    }
}

/// A newer node knows how to speak to us only if it understands our version, and it does not ask.
fn is_understood(version: u32, oldest: u32, own: u32) -> bool {
    (oldest..=own).contains(&version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_before_is_understood_and_no_other() {
        let understood = |own: u32| (0..6).filter(|version| is_understood(*version, own - 1, own)).collect::<Vec<_>>();
        assert_eq!(understood(3), [2, 3]);
        const { assert!(OLDEST_LINK_VERSION + 1 >= LINK_VERSION && OLDEST_LINK_VERSION >= 1) };
        for version in OLDEST_LINK_VERSION..=LINK_VERSION {
            let greeting = Greeting { version, ..Greeting::sample() };
            assert_eq!(greeting.check_version(), Ok(()), "{version}");
        }
        for version in [0, LINK_VERSION + 1] {
            let refusal = Greeting { version, ..Greeting::sample() }.check_version().unwrap_err();
            assert_eq!(
                refusal,
                JoinRefusal::OtherVersion { ours: env!("CARGO_PKG_VERSION").into(), theirs: "1".into() }
            );
        }
    }
}
