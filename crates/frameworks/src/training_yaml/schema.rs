//! The JSON schema of the file, for editors and for other readers.

use serde_json::{Map, Value, json};

use super::keys::{KEYS, Key, Kind, MAIN, MOST, SAME};

/// Made from the table of keys. The keys of the main section may stand alone too.
///
/// What JSON schema has no word for stands in keywords of ours, which other readers skip: `x-kind` is the kind of a
/// key, `x-section` the section that was left out before a key or a section at the top, `x-same` the two spellings of
/// one thing.
pub fn schema() -> Value {
    let mut properties = Map::new();
    for key in KEYS {
        insert(&mut properties, &key.path.split('.').collect::<Vec<_>>(), key);
    }
    let mut alone = Map::new();
    for key in KEYS {
        if let Some(path) = key.path.strip_prefix(MAIN).and_then(|rest| rest.strip_prefix('.')) {
            insert(&mut alone, &path.split('.').collect::<Vec<_>>(), key);
        }
    }
    for (name, mut value) in alone {
        if let Some(value) = value.as_object_mut() {
            value.insert("x-section".to_owned(), MAIN.into());
        }
        properties.entry(name).or_insert(value);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "training.yaml",
        "type": "object",
        "additionalProperties": false,
        "x-same": SAME,
        "properties": properties,
    })
}

fn insert(properties: &mut Map<String, Value>, path: &[&str], key: &Key) {
    let Some((name, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        let mut value = of_kind(key.kind);
        if let Some(value) = value.as_object_mut() {
            value.insert("description".to_owned(), key.about.into());
        }
        properties.entry(*name).or_insert(value);
        return;
    }
    let empty = || json!({"type": ["object", "null"], "additionalProperties": false, "properties": {}});
    let section = properties.entry(*name).or_insert_with(empty);
    if let Some(deeper) = section.get_mut("properties").and_then(Value::as_object_mut) {
        insert(deeper, rest, key);
    }
}

fn of_kind(kind: Kind) -> Value {
    match kind {
        Kind::Flag => json!({"x-kind": "flag", "type": "boolean"}),
        Kind::Count(least) => json!({"x-kind": "count", "type": "integer", "minimum": least, "maximum": MOST}),
        Kind::UpTo(most) => json!({"x-kind": "up-to", "type": "integer", "minimum": 0, "maximum": most}),
        Kind::Share => json!({"x-kind": "share", "type": ["number", "string"], "minimum": 0, "maximum": 1}),
        Kind::Number => json!({"x-kind": "number", "type": ["number", "string"], "minimum": 0}),
        Kind::Word => json!({"x-kind": "word", "type": "string", "minLength": 1}),
        Kind::Choice(words) => json!({"x-kind": "choice", "enum": words}),
        Kind::Words => json!({"x-kind": "words", "type": ["string", "array"], "items": {"type": "string"}}),
        Kind::FlagOrWord => json!({"x-kind": "flag-or-word", "type": ["boolean", "string"], "minLength": 1}),
        Kind::Free => json!({"x-kind": "free"}),
    }
}
