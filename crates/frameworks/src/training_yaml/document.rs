//! From text to sections: YAML as this file understands it.
//!
//! Readers of YAML differ in what a bare word means. The rules here are those of the Python reader too, and both play the
//! cases of `tests/training/yaml`: `yes`, `on`, `y` and their opposites are flags, `5e-5` is a number, `017` is no
//! whole number (15 to some readers, 17 to others), a date is a text, a key that stands twice is a mistake.

use serde_json::{Map, Value};
use serde_saphyr::{
    Error, Options,
    options::{MergeKeyPolicy, NonFiniteFloatPolicy},
};

use super::mistake::{Mistake, Mistakes};

/// The keys at the top of a file, as a text or as it lies on the disk; an empty file has none.
pub fn sections(file: impl AsRef<[u8]>) -> Result<Map<String, Value>, Mistakes> {
    let document = std::str::from_utf8(file.as_ref()).map_err(|_| Mistake::NotUtf8).and_then(|text| {
        serde_saphyr::from_str_with_options(text, options()).map_err(|error| problem(error.without_snippet()))
    });
    let sections = document.and_then(|document| match document {
        Value::Object(sections) => Ok(sections),
        Value::Null => Ok(Map::new()),
        _ => Err(Mistake::NotSections),
    });
    sections.map_err(|problem| Mistakes(vec![problem]))
}

fn options() -> Options {
    serde_saphyr::options! {
        merge_keys: MergeKeyPolicy::Merge,
        // So that the mistake is told with the key at which it stands.
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

/// The mistakes that people make in words of ours; the others in the parser's.
fn problem(error: &Error) -> Mistake {
    match error {
        Error::DuplicateMappingKey { key: Some(key), location } => {
            Mistake::Twice { key: key.clone(), line: location.line() }
        }
        Error::MultipleDocuments { .. } => Mistake::SeveralDocuments,
        Error::NullIntoString { .. } => Mistake::KeyNotText,
        // Texts are wanted nowhere but at keys.
        Error::Unexpected { expected: "string scalar", .. } => Mistake::KeyNotText,
        other => Mistake::Syntax { message: first_line(&other.to_string()) },
    }
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().trim().to_owned()
}
