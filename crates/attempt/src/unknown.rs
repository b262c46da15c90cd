//! Whether a message is of a kind that this version does not know, as opposed to one that it knows and cannot read.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, Error, IntoDeserializer};
use serde_json::Value;

/// For enums that name their kind outside, as serde does by default: `"kind"` or `{"kind": …}`.
pub fn is_of_unknown_kind<T: DeserializeOwned>(body: &[u8]) -> bool {
    let kind = match serde_json::from_slice(body) {
        Ok(Value::String(kind)) => kind,
        Ok(Value::Object(fields)) if fields.len() == 1 => fields.into_iter().map(|(kind, _)| kind).collect(),
        Ok(_) | Err(_) => return false,
    };
    let by_name: StrDeserializer<'_, Problem> = kind.as_str().into_deserializer();
    T::deserialize(by_name).err() == Some(Problem::UnknownKind)
}

/// What is wrong with a kind that stands alone.
#[derive(Debug, PartialEq, Eq)]
enum Problem {
    UnknownKind,
    /// It is known, and its content is missing.
    Other,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownKind => "of unknown kind",
            Self::Other => "incomplete",
        })
    }
}

impl std::error::Error for Problem {}

impl Error for Problem {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Other
    }

    fn unknown_variant(_: &str, _: &'static [&'static str]) -> Self {
        Self::UnknownKind
    }
}
