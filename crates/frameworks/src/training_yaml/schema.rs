//! The JSON schema of the file, for editors and for other readers.

use serde_json::{Map, Value, json};

use super::keys::{KEYS, Key, Kind, MAIN};

/// Made from the table of keys. The keys of the main section may stand alone too.
pub fn schema() -> Value {
    let mut properties = Map::new();
    for key in KEYS {
        insert(&mut properties, &key.path.split('.').collect::<Vec<_>>(), key);
    }
    for key in KEYS {
        if let Some(path) = key.path.strip_prefix(MAIN).and_then(|rest| rest.strip_prefix('.')) {
            insert(&mut properties, &path.split('.').collect::<Vec<_>>(), key);
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "training.yaml",
        "type": "object",
        "additionalProperties": false,
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
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Count(least) => json!({"type": "integer", "minimum": least}),
        Kind::Number => json!({"type": ["number", "string"], "minimum": 0}),
        Kind::Word => json!({"type": "string", "minLength": 1}),
        Kind::Choice(words) => json!({"enum": words}),
        Kind::Words => json!({"type": ["string", "array"], "items": {"type": "string"}}),
        Kind::FlagOrWord => json!({"type": ["boolean", "string"]}),
        Kind::Free => json!({}),
    }
}
