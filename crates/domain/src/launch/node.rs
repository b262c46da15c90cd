//! What one node gets of a launch.

use serde::{Deserialize, Serialize};

use super::{LaunchFile, Placeholder, RankLaunch, Serves, Template};
use crate::access::secret::MASK;

/// Everything that a node must know to start its ranks, but for what only the node itself knows.
///
/// The default is the launch of a program that no framework prepares: nothing is added to what the node has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeLaunch {
    pub node_name: String,
    pub node_count: u32,
    pub world_size: u32,
    /// The ranks of this node, in the order of their local ranks.
    pub ranks: Vec<RankLaunch>,
    /// The same for every rank.
    pub argv: Vec<Template>,
    #[serde(default)]
    pub directory: Option<String>,
    #[serde(default)]
    pub files: Vec<LaunchFile>,
    /// Of every rank, beyond the contract's.
    #[serde(default)]
    pub env: Vec<(String, Template)>,
    /// What the first node's supervisor offers to the ranks.
    #[serde(default)]
    pub serves: Serves,
    /// Whether that is torch's store; else rank 0 hosts it. Agents of older releases leave it to rank 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hosts_store: bool,
}

impl NodeLaunch {
    /// Whether some text of this launch names the place.
    pub fn needs(&self, place: Placeholder) -> bool {
        let of_ranks = self.ranks.iter().flat_map(|rank| &rank.env);
        let variables = self.env.iter().chain(of_ranks).map(|(_, value)| value);
        let mut all = self.argv.iter().chain(variables).chain(self.files.iter().map(|file| &file.text));
        all.any(|template| template.placeholders().any(|named| named == place))
    }

    /// Gives every rank this variable, in the place of any of its name.
    pub fn set_variable(&mut self, name: &str, value: Template) {
        let of_ranks = self.ranks.iter_mut().map(|rank| &mut rank.env);
        of_ranks.chain([&mut self.env]).for_each(|env| env.retain(|(known, _)| known != name));
        self.env.push((name.to_owned(), value));
    }

    /// Takes the value of this variable away.
    pub fn mask_variable(&mut self, name: &str) {
        self.set_variable(name, Template::text(MASK));
    }

    /// The variables of the rank with this local number: those of all for which it has none of its own, then its own.
    pub fn variables(&self, local_rank: usize) -> impl Iterator<Item = (&str, &Template)> {
        let own = self.ranks.get(local_rank).map(|rank| rank.env.as_slice()).unwrap_or_default();
        let shared = self.env.iter().filter(move |(name, _)| own.iter().all(|(known, _)| known != name));
        shared.chain(own).map(|(name, value)| (name.as_str(), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Rank, WorkerId};

    #[test]
    fn a_ranks_own_variable_takes_the_place_of_the_one_of_all() {
        let own = vec![("A".to_owned(), Template::placeholder(Placeholder::Interface))];
        let rank = RankLaunch { rank: Rank(0), worker: WorkerId::new("gn6", 0), gpu: None, env: own };
        let env = vec![("A".to_owned(), "all".into()), ("B".to_owned(), "all".into())];
        let launch = NodeLaunch { ranks: vec![rank], env, ..NodeLaunch::default() };
        let shown = |local: usize| launch.variables(local).map(|(name, v)| (name, v.shown())).collect::<Vec<_>>();
        assert_eq!(shown(0), [("B", "all".to_owned()), ("A", "<interface>".to_owned())]);
        assert_eq!(shown(1), [("A", "all".to_owned()), ("B", "all".to_owned())]);
        assert!(launch.needs(Placeholder::Interface) && !launch.needs(Placeholder::Python));
    }

    #[test]
    fn a_variable_that_is_set_is_every_ranks_and_a_masked_one_is_nobodys() {
        let own = vec![("A".to_owned(), "of rank 0".into()), ("B".to_owned(), "b".into())];
        let rank = RankLaunch { rank: Rank(0), worker: WorkerId::new("gn6", 0), gpu: None, env: own };
        let env = vec![("A".to_owned(), "all".into())];
        let mut launch = NodeLaunch { ranks: vec![rank], env, ..NodeLaunch::default() };
        let shown = |launch: &NodeLaunch| {
            launch.variables(0).map(|(name, v)| format!("{name}={}", v.shown())).collect::<Vec<_>>()
        };
        launch.set_variable("A", "hf_1".into());
        assert_eq!(shown(&launch), ["A=hf_1", "B=b"]);
        launch.mask_variable("A");
        assert_eq!(shown(&launch), ["A=***", "B=b"]);
        assert!(!format!("{launch:?}").contains("hf_1"));
    }
}
