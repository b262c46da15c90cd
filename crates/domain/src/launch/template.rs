//! Texts in which the node fills in what only it knows.
//!
//! No text of the user is ever searched for such places, so that any character may stand in a name.

use std::net::Ipv6Addr;

use serde::{Deserialize, Serialize};

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

    /// Whether rank 0's port is in it, which nobody knows before the supervisor has leased it.
    pub fn needs_port(&self) -> bool {
        self.places().any(|place| place == Place::MasterPort)
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
        assert!(!phrase.needs_port() && phrase.then_place(Place::MasterPort).needs_port());
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
