//! Texts in which the node fills in what only it knows.
//!
//! No text of the user is ever searched for placeholders, so that any character may stand in a name.

use std::net::Ipv6Addr;

use serde::{Deserialize, Serialize};

/// Something that the node fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Placeholder {
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

/// A text with placeholders in it. A text without any travels as a plain string.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Spelled", into = "Spelled")]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Piece {
    Text(String),
    Placeholder { place: Placeholder },
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelled {
    Text(String),
    Pieces(Vec<Piece>),
}

impl Template {
    /// A text that is what it is.
    pub fn text(text: impl Into<String>) -> Self {
        Self { pieces: vec![Piece::Text(text.into())] }
    }

    /// A placeholder alone.
    pub fn placeholder(place: Placeholder) -> Self {
        Self { pieces: vec![Piece::Placeholder { place }] }
    }

    /// Goes on with a text.
    #[must_use]
    pub fn then(mut self, text: impl Into<String>) -> Self {
        self.pieces.push(Piece::Text(text.into()));
        self
    }

    /// Goes on with a placeholder.
    #[must_use]
    pub fn then_placeholder(mut self, place: Placeholder) -> Self {
        self.pieces.push(Piece::Placeholder { place });
        self
    }

    /// Goes on with another template.
    #[must_use]
    pub fn followed_by(mut self, other: &Self) -> Self {
        self.pieces.extend(other.pieces.iter().cloned());
        self
    }

    /// The places that must be known to fill it in.
    pub fn placeholders(&self) -> impl Iterator<Item = Placeholder> + '_ {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Placeholder { place } => Some(*place),
            Piece::Text(_) => None,
        })
    }

    /// Whether rank 0's port is in it, which is not known before the supervisor has leased it.
    pub fn needs_port(&self) -> bool {
        self.placeholders().any(|place| place == Placeholder::MasterPort)
    }

    /// The whole text, with what `know` says for each place. An IPv6 address gets brackets where a port follows, since
    /// its end could not be told otherwise.
    pub fn fill(&self, mut know: impl FnMut(Placeholder) -> String) -> String {
        let mut filled = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Placeholder { place } => {
                    let known = know(*place);
                    let before_a_port = *place == Placeholder::MasterAddress
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

impl From<&str> for Template {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Template {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Spelled> for Template {
    fn from(spelled: Spelled) -> Self {
        match spelled {
            Spelled::Text(text) => Self::text(text),
            Spelled::Pieces(pieces) => Self { pieces },
        }
    }
}

impl From<Template> for Spelled {
    fn from(template: Template) -> Self {
        match <[Piece; 1]>::try_from(template.pieces) {
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
        let template =
            Template::text("tcp://").then_placeholder(Placeholder::MasterAddress).then(":{masterPort}<x> '\"$");
        assert_eq!(template.fill(|_| "10.0.0.6".into()), "tcp://10.0.0.6:{masterPort}<x> '\"$");
        assert_eq!(template.shown(), "tcp://<masterAddress>:{masterPort}<x> '\"$");
        assert_eq!(template.placeholders().collect::<Vec<_>>(), [Placeholder::MasterAddress]);
        assert!(!template.needs_port() && template.then_placeholder(Placeholder::MasterPort).needs_port());
    }

    #[test]
    fn an_ipv6_address_before_a_port_gets_brackets() {
        let known = |place| if place == Placeholder::MasterPort { "29500".into() } else { "fe80::1".to_owned() };
        let endpoint =
            Template::placeholder(Placeholder::MasterAddress).then(":").then_placeholder(Placeholder::MasterPort);
        assert_eq!(endpoint.fill(known), "[fe80::1]:29500");
        assert_eq!(endpoint.fill(|_| "gn6".into()), "gn6:gn6");
        assert_eq!(Template::placeholder(Placeholder::MasterAddress).fill(known), "fe80::1");
        assert_eq!(Template::placeholder(Placeholder::MasterAddress).then(", ").fill(known), "fe80::1, ");
    }

    #[test]
    fn a_plain_text_travels_as_a_string() {
        let plain = Template::text("训练 'x'");
        assert_eq!(serde_json::to_string(&plain).unwrap(), "\"训练 'x'\"");
        let mixed = Template::placeholder(Placeholder::LaunchFolder).then("/ds.json");
        let json = serde_json::to_string(&mixed).unwrap();
        assert_eq!(json, r#"[{"place":"launchFolder"},"/ds.json"]"#);
        assert_eq!(serde_json::from_str::<Template>(&json).unwrap(), mixed);
        assert_eq!(serde_json::from_str::<Template>("\"x\"").unwrap(), Template::text("x"));
    }
}
