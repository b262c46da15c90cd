//! The launch of a task over its nodes: everything that is decided before anything starts.
//!
//! What only the node itself knows (its folders, the port that rank 0 got) stands as a [`Place`] in a [`Phrase`] and is
//! filled in there. No text of the user is ever searched for such places, so that any character may stand in a name.

use std::net::Ipv6Addr;

use serde::{Deserialize, Serialize};

use crate::ids::{EnvironmentId, NodeRank, Rank, WorkerId};
use crate::language::Text;

/// What starts, where, and with which files and variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskLaunch {
    /// The same for every rank.
    pub argv: Vec<Phrase>,
    /// Where the ranks start; the source's folder, else the agent's own, when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Written into the launch folder of every node before anything starts.
    #[serde(default)]
    pub files: Vec<LaunchFile>,
    /// Variables of every rank, beyond those of the contract.
    #[serde(default)]
    pub env: Vec<(String, Phrase)>,
    /// In the order of node ranks.
    pub nodes: Vec<NodeLaunch>,
    /// What Fermi itself has to offer to the ranks while they run.
    #[serde(default)]
    pub serves: Serves,
    /// What was decided on the way and why, for the event log.
    #[serde(default)]
    pub notes: Vec<Text>,
}

/// What the first node's supervisor serves at the master's address and port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Serves {
    /// Rank 0 listens there itself.
    #[default]
    Nothing,
    /// The HTTP key-value store at which Horovod's ranks meet in gloo mode; rank 0 does not listen there.
    HorovodRendezvous,
}

/// A file that the engine or a person reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchFile {
    /// Relative to the launch folder; never leaves it.
    pub path: String,
    pub text: Phrase,
}

/// One node's part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeLaunch {
    pub environment: EnvironmentId,
    pub name: String,
    pub node_rank: NodeRank,
    pub ranks: Vec<RankLaunch>,
}

/// One rank's part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RankLaunch {
    pub rank: Rank,
    pub worker: WorkerId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u32>,
    /// Variables of this rank alone; they win over those of all.
    #[serde(default)]
    pub env: Vec<(String, Phrase)>,
}

/// Something that the node fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// The folder with the launch's files.
    LaunchFolder,
    /// FERMI_OUTPUT_DIR.
    OutputFolder,
    /// FERMI_CHECKPOINT_DIR.
    CheckpointFolder,
    /// Where the task's source is on that node.
    SourceFolder,
    /// The `fermi` that runs there.
    Fermi,
    /// The Python that the task or its environment names, else the first one on the node's PATH.
    Python,
    /// The address at which all nodes reach rank 0.
    MasterAddress,
    /// The port that rank 0 got.
    MasterPort,
    /// The name of the network interface that leads to the other nodes.
    Interface,
}

/// A text with places in it. A text without any travels as a plain string.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Spelled", into = "Spelled")]
pub struct Phrase {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Piece {
    Text(String),
    Place { place: Place },
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelled {
    Text(String),
    Pieces(Vec<Piece>),
}

impl Phrase {
    /// A text that is what it is.
    pub fn text(text: impl Into<String>) -> Self {
        Self { pieces: vec![Piece::Text(text.into())] }
    }

    /// A place alone.
    pub fn place(place: Place) -> Self {
        Self { pieces: vec![Piece::Place { place }] }
    }

    /// Goes on with a text.
    #[must_use]
    pub fn then(mut self, text: impl Into<String>) -> Self {
        self.pieces.push(Piece::Text(text.into()));
        self
    }

    /// Goes on with a place.
    #[must_use]
    pub fn then_place(mut self, place: Place) -> Self {
        self.pieces.push(Piece::Place { place });
        self
    }

    /// Goes on with another phrase.
    #[must_use]
    pub fn followed_by(mut self, other: &Self) -> Self {
        self.pieces.extend(other.pieces.iter().cloned());
        self
    }

    /// The places that must be known to fill it in.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Place { place } => Some(*place),
            Piece::Text(_) => None,
        })
    }

    /// The whole text, with what `know` says for each place. An IPv6 address gets brackets where a port follows, since
    /// its end could not be told otherwise.
    pub fn fill(&self, mut know: impl FnMut(Place) -> String) -> String {
        let mut filled = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Place { place } => {
                    let known = know(*place);
                    let before_a_port = *place == Place::MasterAddress
                        && matches!(self.pieces.get(at + 1), Some(Piece::Text(next)) if next.starts_with(':'));
                    if before_a_port && known.parse::<Ipv6Addr>().is_ok() {
                        filled.push_str(&format!("[{known}]"));
                    } else {
                        filled.push_str(&known);
                    }
                }
            }
        }
        filled
    }

    /// For people: places in angle brackets, such as `<launchFolder>/ds_config.json`.
    pub fn shown(&self) -> String {
        self.fill(|place| {
            let name = serde_json::to_value(place).ok().and_then(|name| name.as_str().map(str::to_owned));
            format!("<{}>", name.unwrap_or_default())
        })
    }
}

impl From<&str> for Phrase {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Spelled> for Phrase {
    fn from(spelled: Spelled) -> Self {
        match spelled {
            Spelled::Text(text) => Self::text(text),
            Spelled::Pieces(pieces) => Self { pieces },
        }
    }
}

impl From<Phrase> for Spelled {
    fn from(phrase: Phrase) -> Self {
        match <[Piece; 1]>::try_from(phrase.pieces) {
            Ok([Piece::Text(text)]) => Self::Text(text),
            Ok(pieces) => Self::Pieces(pieces.into()),
            Err(pieces) => Self::Pieces(pieces),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_in_and_texts_are_left_alone() {
        let phrase = Phrase::text("tcp://").then_place(Place::MasterAddress).then(":{masterPort}<x> '\"$");
        assert_eq!(phrase.fill(|_| "10.0.0.6".into()), "tcp://10.0.0.6:{masterPort}<x> '\"$");
        assert_eq!(phrase.shown(), "tcp://<masterAddress>:{masterPort}<x> '\"$");
        assert_eq!(phrase.places().collect::<Vec<_>>(), [Place::MasterAddress]);
    }

    #[test]
    fn an_ipv6_address_before_a_port_gets_brackets() {
        let known = |place| if place == Place::MasterPort { "29500".into() } else { "fe80::1".to_owned() };
        let endpoint = Phrase::place(Place::MasterAddress).then(":").then_place(Place::MasterPort);
        assert_eq!(endpoint.fill(known), "[fe80::1]:29500");
        assert_eq!(endpoint.fill(|_| "gn6".into()), "gn6:gn6");
        assert_eq!(Phrase::place(Place::MasterAddress).fill(known), "fe80::1");
        assert_eq!(Phrase::place(Place::MasterAddress).then(", ").fill(known), "fe80::1, ");
    }

    #[test]
    fn a_plain_text_travels_as_a_string() {
        let plain = Phrase::text("训练 'x'");
        assert_eq!(serde_json::to_string(&plain).unwrap(), "\"训练 'x'\"");
        let mixed = Phrase::place(Place::LaunchFolder).then("/ds.json");
        let json = serde_json::to_string(&mixed).unwrap();
        assert_eq!(json, r#"[{"place":"launchFolder"},"/ds.json"]"#);
        assert_eq!(serde_json::from_str::<Phrase>(&json).unwrap(), mixed);
        assert_eq!(serde_json::from_str::<Phrase>("\"x\"").unwrap(), Phrase::text("x"));
    }
}
